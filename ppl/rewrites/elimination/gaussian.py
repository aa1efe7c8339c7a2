r"""Gaussian blocks: normal variables with normal children, integrated out together.

Every factor of a block is a set of *rows* :math:`r = e - Z u_{g} - X v` with independent normal errors: a likelihood, or
a prior with the variable moved to the right. Variables that rows pick by one index map g are the *groups*
(:math:`u_j`, a few coefficients each); all others are *dense* (:math:`v`). The precision matrix is then an arrow: a
block for each group, and a few dense columns. Groups go first, the Schur complement of what remains is small:

.. math:: A_j = \textstyle\sum Z'WZ,\quad S = X'WX - \sum_j C_j'A_j^{-1}C_j,\quad
          \log p = -\tfrac12\Big[\log|A| + \log|S| + \min_{u,v} r'Wr\Big] + \tfrac12\log|W| + \text{const}

The minimum is evaluated as a sum of squares of residuals, so that nothing cancels. What does not depend on parameters
(Z'Z, Z'y, ...) is computed once for all evaluations, so the cost does not depend on the number of rows; data are
centred by a least-squares fit first, so that precision does not depend on their distance from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.distributions import Flat, Normal, RandomVariable
from ppl.distributions.constants import LOG_2PI
from ppl.distributions.draw import draw
from ppl.graph import Node, ancestors
from ppl.rewrites.elimination.affine import Affine, Dense, NotAffine, Select, affine, is_data, known_shape
from ppl.rewrites.elimination.program import Factor as ModelFactor
from ppl.rewrites.elimination.program import Observation, Program, Recovery, Term, reaches
from ppl.rewrites.elimination.spd import DenseFactor, Factor
from ppl.tensor.segments import segment_sum
from ppl.tensor.tensor import Tensor, as_tensor

MOST_DENSE = 300  # dense columns beyond which their cubic cost does not pay
MOST_COLUMNS = 8  # coefficients of one group
RIDGE = 1e-9


@dataclass(frozen=True)
class Residual:
    """A factor as an affine residual with independent normal errors of the given scale."""

    factor: ModelFactor
    map: Affine  # mean minus value
    scale: Tensor


@dataclass(frozen=True)
class Declined:
    """A variable that stays, and why."""

    variable: RandomVariable
    why: str


# --- finding blocks -----------------------------------------------------------------------------------------------
def candidates(
    program: Program, kept: frozenset[RandomVariable]
) -> tuple[list[RandomVariable], list[Residual], list[Declined]]:
    """The normal variables that can go together, the residuals of all their factors, and those that cannot with reasons."""
    declined: list[Declined] = []
    chosen = [rv for rv in program.free if rv.family in (Normal, Flat) and rv not in kept and None not in rv.type.shape]
    while True:
        residuals, faults = _residuals(program, chosen)
        faults = faults or _unbounded(program, chosen)
        if not faults:
            return chosen, residuals, declined
        for rv, why in faults.items():
            declined.append(Declined(rv, why))
        chosen = [rv for rv in chosen if rv not in faults]


def _unbounded(program: Program, chosen: Sequence[RandomVariable]) -> dict[RandomVariable, str]:
    """Flat variables on which nothing depends: their density cannot be integrated."""
    flat = [rv for rv in chosen if rv.family is Flat]
    used = {rv for rv in flat for f in program.factors if f is not rv and rv in reaches(f)}
    return {rv: "nothing bounds its flat prior" for rv in flat if rv not in used}


def _residuals(program: Program, chosen: Sequence[RandomVariable]) -> tuple[list[Residual], dict[RandomVariable, str]]:
    block = set(chosen)
    found: list[Residual] = []
    faults: dict[RandomVariable, str] = {}
    for factor in program.factors:
        used = [rv for rv in chosen if rv is factor or rv in reaches(factor)]
        if not used or _is_flat(factor):  # a flat prior adds no row
            continue
        try:
            found.append(_residual(factor, block))
        except NotAffine as why:
            faults.update(_to_blame(factor, used, str(why)))
    return found, faults


def _to_blame(factor: ModelFactor, used: Sequence[RandomVariable], why: str) -> dict[RandomVariable, str]:
    """The variables that stand in the way: those that do alone, else (a product of two, say) the smallest."""
    alone: dict[RandomVariable, str] = {}
    for rv in used:
        if rv is factor:
            continue
        try:
            _residual(factor, {rv} if isinstance(factor, Observation | Term) else {rv, factor})
        except NotAffine as reason:
            alone[rv] = str(reason)
    if alone:
        return alone
    parents = [rv for rv in used if rv is not factor] or list(used)
    return {min(parents, key=lambda rv: prod(known_shape(rv))): why}


def _residual(factor: ModelFactor, block: set[RandomVariable]) -> Residual:
    if isinstance(factor, Term):
        raise NotAffine(f'"{factor.name}" depends on it')
    variable = factor.variable if isinstance(factor, Observation) else factor
    label = f'"{variable.name}"'
    if variable.family is not Normal:
        raise NotAffine(f"{label} is {variable.family.__name__}, not Normal, given it")
    mean, scale = variable.parameters
    if not block.isdisjoint(ancestors(scale)):
        raise NotAffine(f"the scale of {label} depends on it")
    shape = variable.type.shape
    if None in shape:
        raise NotAffine(f"the shape of {label} is only known when the program runs")
    target: Tensor = factor.value if isinstance(factor, Observation) else variable
    if isinstance(factor, Observation) and not block.isdisjoint(ancestors(target)):
        raise NotAffine(f"the observed value of {label} depends on it")
    if not isinstance(factor, Observation) and variable not in block:
        if not block.isdisjoint(ancestors(mean)):
            raise NotAffine(f"{label} is not in the block and its mean depends on it")
    try:
        difference = affine(tt.broadcast_to(mean, shape) - target, block)
    except NotAffine as why:
        raise NotAffine(f"the mean of {label} is not affine in it: {why}") from why
    return Residual(factor, difference, scale)


def _is_flat(factor: ModelFactor) -> bool:
    return isinstance(factor, RandomVariable) and factor.family is Flat


def components(
    chosen: Sequence[RandomVariable], residuals: Sequence[Residual]
) -> list[tuple[list[RandomVariable], list[Residual]]]:
    """The block as separate blocks that share no factor."""
    leader: dict[Node, Node] = {rv: rv for rv in chosen}

    def find(x: Node) -> Node:
        while leader[x] is not x:
            x = leader[x]
        return x

    for r in residuals:
        used = [p.variable for p in r.map.parts]
        for other in used[1:]:
            leader[find(other)] = find(used[0])
    groups: dict[Node, list[RandomVariable]] = {}
    for rv in chosen:
        groups.setdefault(find(rv), []).append(rv)
    return [
        (members, [r for r in residuals if r.map.parts and find(r.map.parts[0].variable) is root])
        for root, members in groups.items()
    ]


# --- rows ---------------------------------------------------------------------------------------------------------
@dataclass
class Rows:
    """r = e - Σ_a Z_a u[g, a] - X v, with variance scale² / weight."""

    count: int
    groups: np.ndarray | None  # the group of each row, None where rows touch no group
    z: dict[int, Tensor]  # column of the group -> coefficient of each row
    x: Tensor | None  # (rows, dense columns)
    e: Tensor
    scale: Tensor  # scalar
    weight: Tensor  # of each row
    observed: bool

    def precision(self) -> Tensor:
        """One over the variance, but for the weights."""
        return self.scale**-2.0


def group_of(rv: RandomVariable, residuals: Sequence[Residual]) -> tuple[int, int] | None:
    """(number of groups, columns) of a variable that rows pick by its first axis; None if they do not."""
    shape = known_shape(rv)
    if not shape or shape[0] < 2 or prod(shape[1:]) > MOST_COLUMNS:
        return None
    columns = prod(shape[1:])
    for r in residuals:
        for part in r.map.parts:
            if part.variable is rv:
                if isinstance(part, Dense):
                    return None
                column = part.positions.ravel() % columns
                own = r.factor is rv
                if column.size and not own and column.min() != column.max():
                    return None
    return shape[0], columns


def choose_groups(chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> list[RandomVariable]:
    """The variables whose entries go first: the largest set that all rows pick by the same index map."""
    sizes = {rv: found for rv in chosen if (found := group_of(rv, residuals))}
    best: list[RandomVariable] = []
    for j in sorted({n for n, _ in sizes.values()}, reverse=True):
        members: list[RandomVariable] = []
        for rv, (n, columns) in sizes.items():
            if (
                n == j
                and sum(sizes[m][1] for m in members) + columns <= MOST_COLUMNS
                and _agree([*members, rv], sizes, residuals)
            ):
                members.append(rv)
        if members and (not best or j > sizes[best[0]][0]):
            best = members
    return best


def _agree(members: Sequence[RandomVariable], sizes: Any, residuals: Sequence[Residual]) -> bool:
    """Whether in each factor all members are picked by one map from rows to groups."""
    wanted = set(members)
    for r in residuals:
        maps = [
            p.positions.ravel() // sizes[p.variable][1]
            for p in r.map.parts
            if isinstance(p, Select) and p.variable in wanted
        ]
        if any(not np.array_equal(maps[0], other) for other in maps[1:]):
            return False
    return True


class Block:
    """A block with its groups and dense columns laid out."""

    def __init__(self, chosen: Sequence[RandomVariable], residuals: Sequence[Residual]) -> None:
        self.variables = list(chosen)
        self.grouped = choose_groups(chosen, residuals)
        self.dense = [rv for rv in chosen if not any(rv is g for g in self.grouped)]
        self.groups = known_shape(self.grouped[0])[0] if self.grouped else 0
        self.columns: dict[Node, int] = {}
        at = 0
        for rv in self.grouped:
            self.columns[rv] = at
            at += prod(known_shape(rv)[1:])
        self.width = at
        self.starts: dict[Node, int] = {}
        at = 0
        for rv in self.dense:
            self.starts[rv] = at
            at += prod(known_shape(rv))
        self.ndense = at
        self.rows = [self._rows(r) for r in residuals]
        self._centre()

    @property
    def ndim(self) -> int:
        return self.groups * self.width + self.ndense

    def _rows(self, r: Residual) -> Rows:
        n = prod(r.map.shape)
        scale, weight = _scale(r.scale, r.map.shape, n)
        z: dict[int, Tensor] = {}
        blocks: dict[Node, Tensor] = {}
        groups: np.ndarray | None = None
        for part in r.map.parts:
            rv = part.variable
            if rv in self.columns:
                assert isinstance(part, Select)
                k = prod(known_shape(rv)[1:])
                flat = part.positions.ravel()
                groups = flat // k
                coefficient = _row(part.coefficient, r.map.shape, n)
                if r.factor is rv and k > 1 or np.ptp(flat % k) > 0:
                    for column in range(k):
                        mask = as_tensor((flat % k == column).astype(float))
                        _accumulate(z, self.columns[rv] + column, coefficient * mask)
                else:
                    _accumulate(z, self.columns[rv] + int(flat[0] % k), coefficient)
            else:
                design = _design(part, r.map.shape, n)
                blocks[rv] = blocks[rv] + design if rv in blocks else design
        x = None
        if blocks:
            pieces = [blocks.get(rv, tt.zeros((n, prod(known_shape(rv))))) for rv in self.dense]
            x = tt.concatenate(pieces, axis=1) if len(pieces) > 1 else pieces[0]
        e = -_row(r.map.offset, r.map.shape, n)
        return Rows(n, groups, z, x, e, scale, weight, isinstance(r.factor, Observation))

    # --- centring -------------------------------------------------------------------------------------------------
    def _centre(self) -> None:
        """Measure all variables from a least-squares fit of the data, where that depends on data alone."""
        self.u_shift: list[Tensor] | None = None
        self.v_shift: Tensor | None = None
        fit = [r for r in self.rows if r.observed]
        if not fit or not all(
            is_data(t) for r in fit for t in (r.e, r.weight, *r.z.values(), *([r.x] if r.x is not None else []))
        ):
            return
        for _ in range(2):
            if self.grouped:
                self._shift_groups(fit)
            if self.ndense:
                self._shift_dense(fit)

    def _shift_groups(self, fit: Sequence[Rows]) -> None:
        a = [[as_tensor(RIDGE if i == j else 0.0) for j in range(self.width)] for i in range(self.width)]
        h = [as_tensor(0.0) for _ in range(self.width)]
        for r in fit:
            if r.groups is None:
                continue
            for i in r.z:
                h[i] = h[i] + self._by_group(r, r.weight * r.z[i] * r.e)
                for j in r.z:
                    if j <= i:
                        a[i][j] = a[i][j] + self._by_group(r, r.weight * r.z[i] * r.z[j])
        full = tt.zeros((self.groups,))
        step = Factor([[full + a[i][j] if j <= i else full for j in range(self.width)] for i in range(self.width)])
        found = step.solve([full + x for x in h])
        for r in self.rows:
            for i, z in r.z.items():
                r.e = r.e - z * self._at_rows(r, found[i])
        self.u_shift = found if self.u_shift is None else [a + b for a, b in zip(self.u_shift, found, strict=True)]

    def _shift_dense(self, fit: Sequence[Rows]) -> None:
        gram, h = tt.eye(self.ndense) * RIDGE, tt.zeros((self.ndense,))
        for r in fit:
            if r.x is not None:
                gram = gram + (r.x * tt.expand_dims(r.weight, 1)).T @ r.x
                h = h + r.x.T @ (r.weight * r.e)
        found = DenseFactor(gram).solve(h)
        for r in self.rows:
            if r.x is not None:
                r.e = r.e - r.x @ found
        self.v_shift = found if self.v_shift is None else self.v_shift + found

    def _by_group(self, r: Rows, values: Tensor) -> Tensor:
        """Sums of row values over groups."""
        assert r.groups is not None
        if r.count == self.groups and np.array_equal(r.groups, np.arange(self.groups)):
            return values
        return segment_sum(values, r.groups, self.groups)

    def _at_rows(self, r: Rows, values: Tensor) -> Tensor:
        """Group values at the rows of each group."""
        assert r.groups is not None
        if r.count == self.groups and np.array_equal(r.groups, np.arange(self.groups)):
            return values
        return values[r.groups]

    # --- elimination ----------------------------------------------------------------------------------------------
    def eliminate(self) -> tuple[Tensor, list[Recovery]]:
        """The log of the integral over the block, and how its variables are drawn."""
        k, q = self.width, self.ndense
        a = [[as_tensor(0.0) for _ in range(k)] for _ in range(k)]
        c = [tt.zeros((self.groups, q)) for _ in range(k)]
        hu = [as_tensor(0.0) for _ in range(k)]
        s, hv = tt.zeros((q, q)), tt.zeros((q,))
        logs = as_tensor(0.0)
        total_rows = 0
        statistics: list[dict[str, Any]] = []
        for r in self.rows:
            precision = r.precision()
            total_rows += r.count
            logs = logs - r.count * tt.log(r.scale) + 0.5 * tt.sum(tt.log(r.weight))
            kept: dict[str, Any] = {"zz": {}, "zx": {}, "ze": {}, "xx": None, "xe": None, "ee": None}
            wx = None if r.x is None else r.x * tt.expand_dims(r.weight, 1)
            for i, zi in r.z.items():
                kept["ze"][i] = self._by_group(r, r.weight * zi * r.e)
                hu[i] = hu[i] + precision * kept["ze"][i]
                for j, zj in r.z.items():
                    if j <= i:
                        kept["zz"][i, j] = self._by_group(r, r.weight * zi * zj)
                        a[i][j] = a[i][j] + precision * kept["zz"][i, j]
                if r.x is not None:
                    kept["zx"][i] = self._by_group(r, wx * tt.expand_dims(zi, 1))
                    c[i] = c[i] + precision * kept["zx"][i]
            if r.x is not None and wx is not None:
                kept["xx"], kept["xe"] = wx.T @ r.x, wx.T @ r.e
                s = s + precision * kept["xx"]
                hv = hv + precision * kept["xe"]
            statistics.append(kept)
        log_det = as_tensor(0.0)
        full = tt.zeros((self.groups,))
        group_factor = None
        if k:
            group_factor = Factor([[full + a[i][j] if j <= i else full for j in range(k)] for i in range(k)])
            log_det = log_det + tt.sum(group_factor.log_det())
            hu = [full + h for h in hu]
        v: Tensor | None = None
        dense_factor = None
        if q:
            if group_factor is not None:
                for wc, wh in zip(_forward_columns(group_factor, c), group_factor.forward(hu), strict=True):
                    s = s - wc.T @ wc
                    hv = hv - wc.T @ wh
            dense_factor = DenseFactor(s)
            log_det = log_det + dense_factor.log_det()
            v = dense_factor.solve(hv)
        u: list[Tensor] = []
        if group_factor is not None:
            rest = hu if v is None else [h - ci @ v for h, ci in zip(hu, c, strict=True)]
            u = group_factor.solve(rest)
        squares = as_tensor(0.0)
        for r, kept in zip(self.rows, statistics, strict=True):
            squares = squares + r.precision() * self._sum_of_squares(r, kept, u, v)
        density = logs - 0.5 * (total_rows - self.ndim) * LOG_2PI - 0.5 * log_det - 0.5 * squares
        return density, self._recoveries(group_factor, hu, c, dense_factor, v)

    def _sum_of_squares(self, r: Rows, kept: dict[str, Any], u: list[Tensor], v: Tensor | None) -> Tensor:
        """Σ weight (e - Z u - X v)², from the rows where they are few, else from statistics of the rows."""
        if r.count <= 2 * self.ndim + 8 or not is_data(r.e):
            residual = r.e
            for i, z in r.z.items():
                residual = residual - z * self._at_rows(r, u[i])
            if r.x is not None:
                assert v is not None
                residual = residual - r.x @ v
            return tt.sum(r.weight * residual**2)
        total = tt.sum(r.weight * r.e**2)
        for i in r.z:
            total = total - 2.0 * tt.sum(kept["ze"][i] * u[i])
            for j in r.z:
                if j <= i:
                    total = total + (1.0 if i == j else 2.0) * tt.sum(kept["zz"][i, j] * u[i] * u[j])
            if r.x is not None:
                total = total + 2.0 * tt.sum(u[i] * (kept["zx"][i] @ v))
        if r.x is not None:
            assert v is not None
            total = total - 2.0 * tt.sum(kept["xe"] * v) + tt.sum(v * (kept["xx"] @ v))
        return total

    def _recoveries(
        self, group_factor: Factor | None, hu: Any, c: Any, dense_factor: DenseFactor | None, v: Any
    ) -> list[Recovery]:
        """Dense variables from their marginal, groups given them; on the scale of the user."""
        found: list[Recovery] = []
        value: Tensor | None = None
        if dense_factor is not None:
            noise = draw(Normal, (as_tensor(0.0), as_tensor(1.0)), (self.ndense,))
            value = v + dense_factor.backward(noise)
            shifted = value if self.v_shift is None else value + self.v_shift
            for rv in self.dense:
                start, size = self.starts[rv], prod(known_shape(rv))
                found.append(Recovery(rv, shifted[start : start + size].reshape(rv.type.shape)))
        if group_factor is not None:
            noises = [draw(Normal, (as_tensor(0.0), as_tensor(1.0)), (self.groups,)) for _ in range(self.width)]
            rest = hu if value is None else [h - ci @ value for h, ci in zip(hu, c, strict=True)]
            centre, spread = group_factor.solve(rest), group_factor.backward(list(noises))
            parts = [m + d for m, d in zip(centre, spread, strict=True)]
            if self.u_shift is not None:
                parts = [p + d for p, d in zip(parts, self.u_shift, strict=True)]
            for rv in self.grouped:
                start, width = self.columns[rv], prod(known_shape(rv)[1:])
                columns = parts[start : start + width]
                stacked = columns[0] if width == 1 else tt.stack(columns, axis=-1)
                found.append(Recovery(rv, stacked.reshape(rv.type.shape)))
        return found


def _forward_columns(factor: Factor, c: Sequence[Tensor]) -> list[Tensor]:
    """L⁻¹ C for the columns of each group, all dense columns at once."""
    result: list[Tensor] = []
    for i in range(factor.size):
        rest = c[i]
        for k in range(i):
            rest = rest - tt.expand_dims(factor.lower[i][k], 1) * result[k]
        result.append(rest / tt.expand_dims(factor.lower[i][i], 1))
    return result


def _accumulate(z: dict[int, Tensor], column: int, value: Tensor) -> None:
    z[column] = z[column] + value if column in z else value


def _row(t: Tensor, shape: Any, n: int) -> Tensor:
    """A tensor that broadcasts to `shape`, one number a row."""
    return tt.broadcast_to(t, shape).reshape((n,))


def _design(part: Select | Dense, shape: Any, n: int) -> Tensor:
    """The columns of a dense variable."""
    size = prod(known_shape(part.variable))
    if isinstance(part, Dense):
        return part.design.reshape((n, size))
    coefficient = _row(part.coefficient, shape, n)
    hot = (part.positions.ravel()[:, None] == np.arange(size)[None, :]).astype(float)
    return tt.expand_dims(coefficient, 1) * as_tensor(hot)


def _scale(scale: Tensor, shape: Any, n: int) -> tuple[Tensor, Tensor]:
    """A standard deviation as one number and a weight a row."""
    if prod(d or 1 for d in scale.type.shape) == 1 and None not in scale.type.shape:
        return scale.reshape(()) if scale.ndim else scale, tt.ones((n,))
    return as_tensor(1.0), _row(scale, shape, n) ** -2.0


def eliminate(
    program: Program, kept: frozenset[RandomVariable]
) -> tuple[Program, list[tuple[Block, str]], list[Declined]]:
    """The program without its Gaussian blocks."""
    chosen, residuals, declined = candidates(program, kept)
    done: list[tuple[Block, str]] = []
    for members, rows in components(chosen, residuals):
        block = Block(members, rows)
        if block.ndense > MOST_DENSE:
            declined += [Declined(rv, f"{block.ndense} dense columns would cost more than they save") for rv in members]
            continue
        density, recoveries = block.eliminate()
        name = ", ".join(rv.name or "a draw" for rv in members)
        gone: list[ModelFactor] = [*members, *(r.factor for r in rows)]
        program = program.without(gone).plus(terms=[Term(f"marginal of {name}", density)], recoveries=recoveries)
        done.append((block, name))
    return program, done, declined

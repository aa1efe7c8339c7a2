"""Parameters that the data do not tell apart: sums, products, intercepts beside all groups, columns that are
collinear."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl.distributions import Flat, RandomVariable
from ppl.graph import ancestors
from ppl.model.checking.before.columns import Covariates, covariates
from ppl.model.checking.directions import Direction
from ppl.model.checking.findings import Finding, listed, quoted
from ppl.model.checking.survey import Survey, constant_of
from ppl.tensor.linalg import MATMUL

KINDS = ("not identified", "collinear columns", "improper posterior")

FEW = 3  # variables of a product that is told of


def find(survey: Survey) -> Iterator[Finding]:
    """Directions in which several parameters move while no law changes."""
    groups: dict[tuple[tuple[RandomVariable, ...], bool], list[Direction]] = {}
    for direction in survey.directions.found if survey.directions else ():
        moving = sum(np.count_nonzero(share) for share in direction.shares.values())
        if moving > 1 and (direction.linear or _is_plain(direction)):
            groups.setdefault((tuple(direction.shares), direction.linear), []).append(direction)
    for (variables, linear), directions in groups.items():
        yield _told(survey, variables, directions, linear)


def _is_plain(direction: Direction) -> bool:
    """Whether a direction that turns is that of a few numbers: standard normal effects times a scale are meant so."""
    return len(direction.shares) <= FEW and all(share.ndim == 0 for share in direction.shares.values())


def _told(survey: Survey, variables: tuple[RandomVariable, ...], directions: list[Direction], linear: bool) -> Finding:
    names = tuple(rv.name or "" for rv in variables)
    improper = [rv for rv in variables if survey.is_improper(rv)]
    unbounded = [rv for rv in improper if rv.family is Flat]
    told = _collinear(survey, variables, directions) or _columns_apart(survey, variables, directions)
    kind = "collinear columns" if told and not _is_short(survey, variables) else "not identified"
    what, mend = told or _sum(variables, directions, linear)
    if len(unbounded) == len(variables) and linear:
        return Finding(
            "improper posterior" if kind == "not identified" and len(variables) == 1 else kind, names, "error",
            f"{what} Their priors are flat, so that the posterior has no finite integral.", mend,
        )  # fmt: skip
    if len(improper) == len(variables):
        return Finding(kind, names, "warning", f"{what} Their priors are improper and do not tell either.", mend)
    alone = " and ".join(dict.fromkeys(quoted([rv.name or ""]) for rv in variables if not survey.is_improper(rv)))
    severity = "warning" if kind == "collinear columns" else "note"
    return Finding(kind, names, severity, f"{what} Only the prior of {alone} tells.", mend)  # type: ignore[arg-type]


def _sum(variables: tuple[RandomVariable, ...], directions: list[Direction], linear: bool) -> tuple[str, str]:
    names = [rv.name or "" for rv in variables]
    if not linear:
        return (
            f"The data tell of {quoted(names)} through a combination such as a product or a ratio, and not of each.",
            f"Fix one of {quoted(names)} at a number, or replace them by the one combination that the data tell of.",
        )
    first = directions[0].shares
    wholes = [rv for rv in variables if first[rv].ndim == 0]
    groups = [rv for rv in variables if first[rv].ndim and np.ptp(first[rv]) < 1e-6 * np.max(np.abs(first[rv]))]
    if len(directions) == 1 and wholes and groups and len(wholes) + len(groups) == len(variables):
        one, many = quoted([rv.name or "" for rv in wholes]), quoted([rv.name or "" for rv in groups])
        return (
            f"The data tell of the sum of {one} and every entry of {many}, and not of the level of each: a number "
            "may go from one to the other.",
            f"Leave {one} out, take a group of {many} as the reference, make {many} a ZeroSumNormal, or give {many} "
            "a common scale that is learned.",
        )
    if len(directions) == 1 and len(groups) == len(variables) > 1:
        many = quoted([rv.name or "" for rv in groups])
        return (
            f"The data tell of sums of one entry of each of {many}, and not of the level of each: a number may go "
            "from all entries of one to all of another.",
            f"Make all but one of {many} a ZeroSumNormal, or take an entry of each but one as the reference, at zero.",
        )
    if len(variables) == 1 and first[variables[0]].ndim and all(_is_level(d, variables[0]) for d in directions):
        return (
            f"The data tell of differences along the last axis of {quoted(names)} only, as under a softmax: all "
            "entries there may move together.",
            f"Fix the entries of one class of {quoted(names)} at zero as the reference class, or make it a "
            "ZeroSumNormal.",
        )
    if len(variables) == 1:
        size = int(np.prod(variables[0].type.shape))
        return (
            f"The data tell of {size - len(directions)} combinations of the {size} entries of {quoted(names)}, and "
            "not of each entry.",
            f"Take fewer entries of {quoted(names)}, more rows of other values, or a proper prior that is meant to "
            "tell.",
        )
    if len(variables) == 2 and len(wholes) == 2:
        one, other = (float(first[rv]) for rv in variables)
        if np.isclose(abs(one), abs(other)):
            what = "sum" if one * other < 0 else "difference"
            return (
                f"The data tell of the {what} of {quoted(names)}, and not of each.",
                f"Leave one of {quoted(names)} out, fix it at a number, or add data that tell them apart.",
            )
    shares = [f"{_shown(first[rv])}" for rv in variables]
    return (
        f"The data tell of combinations of {quoted(names)} and not of each: they may move together (by "
        f"{listed(shares)}) while no law changes.",
        f"Leave one of {quoted(names)} out, fix it at a number, or add data that tell them apart.",
    )


def _is_level(direction: Direction, rv: RandomVariable) -> bool:
    """Whether a direction moves all entries along the last axis alike."""
    share = direction.shares[rv]
    return bool(np.all(np.ptp(share, axis=-1) < 1e-6 * np.max(np.abs(share))))


def _shown(share: np.ndarray) -> str:
    values = share[share != 0]
    return f"{values[0]:.3g}" + (" and so on" if values.size > 1 else "")


def _collinear(
    survey: Survey, variables: tuple[RandomVariable, ...], directions: list[Direction]
) -> tuple[str, str] | None:
    """What to say where the entries of one variable are the coefficients of a matrix of data."""
    if len(variables) != 1:
        return None
    (rv,) = variables
    matrix = _matrix_of(survey, rv)
    if matrix is None:
        return None
    columns = sorted({int(i) for d in directions for i in np.flatnonzero(d.shares[rv].reshape(-1))})
    if len(matrix) < matrix.shape[1]:
        what = f'The design that "{rv.name}" multiplies has {len(matrix)} rows for {matrix.shape[1]} columns.'
        mend = f'Take fewer columns for "{rv.name}", or a proper prior that is meant to tell, such as a horseshoe.'
        return what, mend
    return (
        f'Columns {listed(columns)} of the design that "{rv.name}" multiplies are collinear: one is a sum of '
        "multiples of the others, so that the data tell of their combination and not of each coefficient.",
        f'Leave column {columns[-1]} of the design of "{rv.name}" out, or combine these columns into one.',
    )


def _columns_apart(
    survey: Survey, variables: tuple[RandomVariable, ...], directions: list[Direction]
) -> tuple[str, str] | None:
    """What to say where each variable multiplies columns of its own, or is the intercept beside a constant one."""
    if len(directions) != 1 or len(variables) < 2:
        return None
    known: dict[RandomVariable, Covariates] = {}
    for each in covariates(survey):
        if len(each.coefficients) == 1:
            known.setdefault(each.coefficients[0], each)
    used = {rv: _used_columns(known[rv], directions[0].shares[rv]) for rv in variables if rv in known}
    others = [rv for rv in variables if used.get(rv) is None]
    if not any(c is not None for c in used.values()) or any(rv.ndim for rv in others):
        return None
    names = [rv.name or "" for rv in variables]
    with_columns = [rv for rv in variables if rv not in set(others)]
    if len(others) == 1 and all(np.all(np.ptp(c, axis=0) == 0) for c in used.values() if c is not None):
        beside = with_columns[0]
        column = int(np.flatnonzero(directions[0].shares[beside].reshape(-1))[0]) if beside.ndim else None
        what = (
            f'Column {column} of the design of "{beside.name}"' if beside.ndim else f'What "{beside.name}" multiplies'
        )
        return (
            f'{what} is constant, and "{others[0].name}" is an intercept beside it: the data tell of their sum only.',
            f'Leave "{others[0].name}" or the constant column of "{beside.name}" out.',
        )
    if others and len(others) > 1:
        return None
    return (
        f"What {quoted([rv.name or '' for rv in with_columns])} multiply is "
        f"collinear{f' with the intercept {quoted([others[0].name or str()])}' if others else ''}: one column is a "
        f"sum of multiples of the others, so that the data tell of a combination of {quoted(names)} and not of each.",
        f"Leave one of {quoted(names)} out, or combine their columns into one.",
    )


def _used_columns(found: Covariates, share: np.ndarray) -> np.ndarray | None:
    """The columns whose coefficients take part in a direction; None for those of dummies, told of as groups."""
    if share.size != found.columns.shape[1] and share.size != 1:
        return None
    columns = found.columns[:, np.flatnonzero(share.reshape(-1))] if share.size > 1 else found.columns
    dummies = share.size > 1 and np.all((columns == 0) | (columns == 1)) and np.all(columns.sum(axis=1) == 1)
    return None if dummies and columns.shape[1] > 1 else columns


def _is_short(survey: Survey, variables: tuple[RandomVariable, ...]) -> bool:
    """Whether there are fewer rows than columns, which is no matter of single columns."""
    matrix = _matrix_of(survey, variables[0]) if len(variables) == 1 else None
    return matrix is not None and len(matrix) < matrix.shape[1]


def _matrix_of(survey: Survey, rv: RandomVariable) -> np.ndarray | None:
    """The matrix of data that a vector of coefficients is multiplied by."""
    for node in ancestors(survey.ends):
        if node.op is MATMUL and node.inputs[0].type.ndim == 2 and rv in ancestors([node.inputs[1]]):
            value = constant_of(node.inputs[0])
            if value is not None and value.shape[1] == int(np.prod(rv.type.shape)):
                return value
    return None

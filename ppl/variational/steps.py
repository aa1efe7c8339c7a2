"""Steps of stochastic optimization: many in one dispatch of one program.

A step draws from the approximation, and rows of data where there are minibatches; takes the slopes of the operator's
loss by the parameters; and hands these to the optimizer, a symbolic rule of the user or of `updates`. All of it is one
loop in one program, with the parameters and the memory of the optimizer as its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import ppl.tensor as tt
from ppl.compile.density import FlatProgram
from ppl.compile.pure import Program
from ppl.graph import substitute
from ppl.samplers.programs.programs import LOOP, PROGRAMS, turn
from ppl.samplers.programs.randomness import chain_key, fold, normals, own_settings
from ppl.tensor.tensor import TensorType, placeholder
from ppl.tensor.variables import Variable, fitting_update
from ppl.variational.groups import EmpiricalGroup
from ppl.variational.operators import KL, KSD
from ppl.variational.stein import direction
from ppl.variational.updates import total_norm_constraint
from ppl.xla.later import jax, jnp, lax

ROWS = 1000  # steps of a dispatch at most


class Steps:
    """`steps(n)` makes n steps and returns their losses (nan where there is none)."""

    def __init__(
        self,
        operator: KL | KSD,
        kernel: Callable[[Any], tuple[Any, Any]] | None,
        optimizer: Callable[..., Mapping[Any, Any]],
        draws: int,
        seed: int,
        more_params: Sequence[Variable] = (),
        more_updates: Mapping[Any, Any] | None = None,
        more_replacements: Mapping[Any, Any] | None = None,
        most_norm: float | None = None,
    ) -> None:
        self.operator, self.approx, self.problem = operator, operator.approx, operator.approx.problem
        self.kernel, self.draws = kernel, draws
        self.scale = self.problem.minibatch_scale() if self.approx.scale_cost_to_minibatch else 1.0
        self.key, self.done = chain_key(seed, 0), 0
        self.params = [*self.approx.params, *more_params]
        self._densities(more_params, more_replacements)
        self._optimizer(optimizer, dict(more_updates or {}), most_norm)

    # --- parts of a step --------------------------------------------------------------------------------------------
    def _densities(self, more_params: Sequence[Variable], replacements: Mapping[Any, Any] | None) -> None:
        """The two parts of the log-density of one point, as functions of it, of keys of random rows and of further
        parameters; and the draws of each group with their log-density, as functions of its parameters and of noise."""
        problem, rows = self.problem, self.problem.random_rows
        parts = problem.data_and_prior(replacements)
        self.row_places = [placeholder(v.type, v.name) for v in rows]
        more = [placeholder(v.type, v.name) for v in more_params]
        parts = substitute(list(parts), dict(zip([*rows, *more_params], [*self.row_places, *more], strict=True)))
        self.density = FlatProgram(parts, problem.slots, [*self.row_places, *more], once=problem.posterior.of_data)
        self.groups = []
        for group in self.approx.groups:
            noise = placeholder(TensorType("float64", (self.draws, max(1, group.ddim))), "noise")
            outputs = [group.symbolic(noise)] if self._particles(group) is None else [group.histogram]
            if isinstance(self.operator, KL):
                outputs.append(group.log_q(noise))
            places = [placeholder(TensorType(p.dtype, np.shape(p.get_value())), p.name) for p in group.params]
            outputs = substitute(outputs, dict(zip(group.params, places, strict=True)))
            self.groups.append(Program([*places, noise], outputs))
        self.stein = None
        if self.kernel is not None:
            count = max((len(p) for p in map(self._particles, self.approx.groups) if p is not None), default=self.draws)
            points = placeholder(TensorType("float64", (count, problem.dim)), "points")
            self.stein = Program([points], list(self.kernel(points)))

    def _particles(self, group: Any) -> Any:
        """The points of a group that are moved themselves."""
        moved = isinstance(self.operator, KSD) and isinstance(group, EmpiricalGroup)
        return group.histogram.get_value() if moved else None

    def _optimizer(self, optimizer: Any, more_updates: dict[Any, Any], most_norm: float | None) -> None:
        """What all variables become, given the slopes."""
        slopes = [placeholder(TensorType(p.dtype, np.shape(p.get_value())), f"slope of {p.name}") for p in self.params]
        given = slopes if most_norm is None else total_norm_constraint(slopes, most_norm)
        updates = {**dict(optimizer(list(given), list(self.params))), **more_updates}
        self.state = [*self.params, *(v for v in updates if v not in set(self.params))]
        new = [fitting_update(v, updates[v]) if v in updates else v for v in self.state]
        places = [placeholder(TensorType(v.dtype, np.shape(v.get_value())), v.name) for v in self.state]
        self.rule = Program(
            [*slopes, *places], substitute([tt.as_tensor(x) for x in new], dict(zip(self.state, places, strict=True)))
        )

    def _data(self) -> tuple[Any, ...]:
        stein = () if self.stein is None else self.stein.data
        return self.density.data, tuple(g.data for g in self.groups), self.rule.data, stein

    @cached_property
    def _key(self) -> Any:
        operator = self.operator
        how = ("kl", operator.beta) if isinstance(operator, KL) else ("ksd", operator.temperature)
        stein = None if self.stein is None else self.stein.key
        places = tuple(tuple(g.index) for g in self.approx.groups)
        return ("variational steps", how, self.scale, self.draws, self.density.key, places,
                tuple(g.key for g in self.groups), self.rule.key, stein, len(self.params))  # fmt: skip

    @property
    def looks(self) -> int:
        """How often a step looks at the log-density: once a draw or particle."""
        counts = [len(points) for points in map(self._particles, self.approx.groups) if points is not None]
        return max([self.draws, *counts])

    # --- one step ---------------------------------------------------------------------------------------------------
    def _slopes(self, params: Sequence[Any], key: Any, data: Any) -> tuple[Any, list[Any]]:
        """The loss and its slopes by the parameters, for one set of draws."""
        density_data, groups_data, _, stein_data = data
        own = len(self.approx.params)
        more = params[own:]
        rows = [fold(fold(key, 1), i).astype(place.dtype) for i, place in enumerate(self.row_places)]
        noises = [
            normals(fold(fold(key, 2), i), self.draws * g.inputs[-1].type.shape[1], jnp.dtype("float64")).reshape(  # type: ignore[attr-defined]
                g.inputs[-1].type.shape  # type: ignore[attr-defined]
            )
            for i, g in enumerate(self.groups)
        ]

        def drawn(params: Sequence[Any]) -> tuple[Any, Any]:
            at, parts, log_q = 0, [], 0.0
            for group, program, noise, arrays in zip(self.approx.groups, self.groups, noises, groups_data, strict=True):
                count = len(group.params)
                found = program([*params[at : at + count], noise], *arrays)
                at += count
                parts.append((group.index, found[0]))
                log_q = log_q + (found[1] if len(found) > 1 else 0.0)
            z = jnp.zeros((len(parts[0][1]), self.problem.dim))
            for index, part in parts:
                z = z.at[:, index].set(part)
            return z, log_q

        def log_densities(z: Any, more: Sequence[Any]) -> tuple[Any, Any]:
            found = jax.vmap(lambda point: tuple(self.density(point, *rows, *more, *density_data)))(z)
            return found[0], found[1]

        if isinstance(self.operator, KL):
            beta = self.operator.beta

            def loss(params: Sequence[Any]) -> Any:
                z, log_q = drawn(params)
                of_data, of_prior = log_densities(z, params[own:])
                return jnp.mean(-of_data + beta * (log_q - of_prior)) / self.scale

            value, slopes = jax.value_and_grad(loss)(list(params))
            return value, slopes
        z, back = jax.vjp(lambda params: drawn(params)[0], list(params[:own]))
        total = lambda z, more: jnp.sum(jnp.stack(log_densities(z, more)))
        uphill, by_more = jax.grad(total, argnums=(0, 1))(z, list(more))
        k, repulsion = self.stein([z], *stein_data)  # type: ignore[misc]
        phi = direction(k, repulsion, uphill, self.scale, self.operator.temperature)
        return jnp.nan, [*back(-phi)[0], *(-g for g in by_more)]

    def _program(self) -> Callable[..., Any]:
        def advance(state: Any, key: Any, first: Any, count: Any, data: Any) -> Any:
            def one(i: Any, carry: Any) -> Any:
                state, losses = carry
                value, slopes = self._slopes(state[: len(self.params)], fold(key, first + i), data)
                new = self.rule([*slopes, *state], *data[2])
                new = [jnp.asarray(x, old.dtype).reshape(old.shape) for x, old in zip(new, state, strict=True)]
                return new, losses.at[i].set(value)

            return lax.fori_loop(jnp.zeros_like(count), count, one, (list(state), jnp.full(ROWS, jnp.nan)))

        return advance

    def __call__(self, n: int) -> np.ndarray:
        found = []
        data = self._data()
        while n > 0:
            count = min(n, ROWS)
            with own_settings():
                state = [np.asarray(v.get_value()) for v in self.state]
                given = (state, self.key, np.uint32(self.done), np.int64(count), data)
                program = PROGRAMS.get(self._key, self._program, given, polish=LOOP)
                with turn(program):
                    new, losses = jax.block_until_ready(program(*given))
            for variable, value in zip(self.state, new, strict=True):
                variable.set_value(np.asarray(value))
            found.append(np.asarray(losses)[:count])
            self.done += count
            n -= count
        return np.concatenate(found) if found else np.zeros(0)

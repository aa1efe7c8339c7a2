"""What a strategy is given: the posterior of a request, and what moves it, where it starts and what its result is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ppl.compile.density import FlatProgram
from ppl.compile.row_blocks import NO_ROWS, BlockedProgram, blocked
from ppl.distributions import RandomVariable, Wishart
from ppl.model.arguments import chosen_names
from ppl.model.finishing.finishing import Finisher, Request, refuse_too_large
from ppl.model.finishing.runs import Independent
from ppl.model.finishing.whose_run import identity_of
from ppl.model.inference.callbacks import Reporter
from ppl.model.inference.mesh_plan import refuse_what_cannot_pay
from ppl.model.inference.request import Asked
from ppl.model.inference.steps import Assignment, assign
from ppl.model.inference.steps.assignment import stepped
from ppl.model.inference.steps.colors import Palette
from ppl.model.inputs.minibatches import refuse_minibatches
from ppl.model.output import results
from ppl.model.output.sample_stats import NUTPIE
from ppl.model.posterior.rewriting import Posterior, rewritten
from ppl.model.starting.start_points import Starts, starts_for
from ppl.rewrites.factorization.factors import Division
from ppl.xla import backend
from ppl.xla.later import is_loaded
from ppl.xla.meshes import ROWS


@dataclass(eq=False)
class Task:
    """A posterior that is to be drawn from."""

    asked: Asked
    posterior: Posterior
    methods: Assignment
    starts: Starts
    finish: Finisher
    division: Division | None  # the parts that may be drawn each by itself; None where all are to move together
    numbers: Independent | None = None  # what quadrature has drawn

    def prepare_results(self, by_numpy: bool = False) -> None:
        """Compile what results need, beside the sampler. The graph of the density is complete by then: how a graph is
        rewritten depends on the age of its nodes, and two threads that rewrite would share them by turns.

        Where draws are made `by_numpy`, nothing is prepared for results that come by NumPy too: two threads would only
        wait for each other."""
        if not (by_numpy and self.finish.is_by_numpy(self.asked.draws)):
            self.finish.prepare(self.asked.chains, self.asked.draws)

    @cached_property
    def stored(self) -> Mapping[str, Any]:
        """Where and how draws are saved, and whose they are."""
        asked = self.asked
        if not asked.stored:
            return {}
        words = {
            "rewrite": asked.rewrite, "protect": _written(asked.protect), "eliminate": _written(asked.eliminate),
            "init": asked.init,
        }  # fmt: skip
        return {**asked.stored, "identity": identity_of(self.posterior, self.starts, self.methods, words)}

    @cached_property
    def palette(self) -> Palette:
        """Which entries of discrete variables may move together."""
        return self.methods.palette(self.posterior, self.starts.slots)

    @cached_property
    def density(self) -> FlatProgram:
        """The log-density of all that is left, and the terms that a sweep looks at one by one."""
        posterior, terms, slots = self.posterior, self.palette.terms, self.starts.slots
        moved = None if self.methods.only_nuts else tuple(self.methods.nuts)  # by gradients
        key = ("density", moved, *terms, *((slot.variable, slot.shape) for slot in slots))
        found: FlatProgram = posterior.once(
            key, lambda: FlatProgram([posterior.logp(), *terms], slots, once=posterior.of_data, moved=moved)
        )
        return found

    @cached_property
    def on_mesh(self) -> BlockedProgram | FlatProgram:
        """The log-density as the devices of a mesh compute it: block by block of rows, where it has any."""
        posterior, slots, mesh = self.posterior, self.starts.slots, self.asked.mesh
        if mesh.shape[ROWS] > 1 and not self.asked.shard:
            refuse_what_cannot_pay(posterior, slots, mesh)
        found = blocked(posterior.logp(), slots, posterior.of_data, ROWS, mesh.shape[ROWS])
        if found is None and mesh.shape[ROWS] > 1:
            raise ValueError(NO_ROWS)
        return self.density if found is None else found

    @cached_property
    def reporter(self) -> Reporter | None:
        """What passes draws to the user's callback."""
        if self.asked.callback is None:
            return None
        options = {"include_transformed": True}
        everything = self.finish.request._replace(names=list(self.posterior.outputs), options=options)
        rows = Finisher(self.posterior, self.starts.slots, everything).rows
        return Reporter(self.asked.callback, rows, self.asked.tune + self.asked.draws)


_ONLY_NUTS = (
    "mesh= is for models that NUTS of this package moves alone: this one has discrete variables, or step= or"
    " nuts_sampler= choose other methods. Leave mesh= out."
)


def task_of(asked: Asked) -> Task:
    """The task that a request makes: its posterior, as written or rewritten, and what moves its values."""
    if asked.as_arviz:
        results.prepare()
    if is_loaded():  # elsewhere programs look when there are any
        backend.check()
    posterior = _posterior(asked)
    chosen = asked.var_names is not None
    names = chosen_names("var_names", asked.var_names, posterior.outputs) if chosen else list(posterior.outputs)
    methods = assign(posterior, asked.step, asked.for_counts)
    if methods.settings and asked.given:
        raise ValueError(
            f"step= brings NUTS with its own settings: give {', '.join(asked.given)} to it, as in"
            " NUTS(target_accept=0.9)."
        )
    methods.check_population(asked.chains)
    posterior = replace(posterior, values=methods.order)
    starts = starts_for(posterior, asked.initvals, asked.chains, asked.seed, asked.nuts.jitter)
    request = Request(
        names, asked.seed, asked.tune, asked.keep_warmup, asked.checked, asked.quiet, asked.as_arviz, asked.extras,
        NUTPIE if asked.nuts_sampler == "nutpie" else {}, asked.certified, methods.only_nuts, chosen,
    )  # fmt: skip
    finish = Finisher(posterior, starts.slots, request)
    finish.directory, finish.in_zarr = asked.directory, asked.stored.get("storage") == "zarr"
    finish.facts["drawn_by"] = _named(asked, methods)
    refuse_too_large(_sizes(finish), asked.chains, asked.draws)
    if asked.mesh is not None and not (methods.only_nuts and asked.own):
        raise ValueError(_ONLY_NUTS)
    steered = asked.watched or asked.steered or asked.mesh is not None
    in_parts = asked.rewrite and asked.independent and not steered and methods.only_nuts
    division = posterior.division if in_parts else None
    if asked.max_seconds is not None and division is not None and division.chains:
        division = None  # all chains move together: of parts in turn the last would have no draw when time is over
    return Task(asked, posterior, methods, starts, finish, division)


def _posterior(asked: Asked) -> Posterior:
    """The posterior as written or rewritten. What the user's steps move stays; so does what NUTS can move, where it is
    to run and nothing else would be left for it."""
    model = asked.model
    posterior = rewritten(model, asked.rewrite, [*asked.protect, *stepped(model, asked.step)], asked.eliminate)
    if asked.steered and not posterior.values and not asked.eliminate:
        posterior = rewritten(model, asked.rewrite, [rv for rv in model.free_RVs if rv.dtype[0] == "f"])
    refuse_minibatches(posterior.terms.values())
    _warn_of_matrices(posterior)
    return posterior


def _named(asked: Asked, methods: Assignment) -> str:
    """What draws are made by, for the attributes of the result."""
    if not asked.own:
        return asked.nuts_sampler
    kernel: str = methods.settings.get("kernel", asked.nuts.kernel)
    return kernel.upper() if methods.only_nuts else methods.describe()


def _written(variables: list[Any]) -> list[str]:
    return sorted(str(getattr(each, "name", each)) for each in variables)


def _sizes(finish: Finisher) -> dict[str, int]:
    """The entries of each output, as far as they are known before anything runs."""
    return {
        name: int(np.prod([n for n in node.type.shape if n is not None], dtype=float))
        for name, node in zip(finish._names, finish.program.outputs, strict=True)
    }


def _warn_of_matrices(posterior: Posterior) -> None:
    """Warn where a sampler would have to move the entries of a symmetric matrix one by one."""
    moved = [posterior.model.named_vars.get(str(name)) for name in posterior.names.values()]
    names = [f'"{rv.name}"' for rv in moved if isinstance(rv, RandomVariable) and rv.family is Wishart]
    if names:
        text = (
            f"{', '.join(names)}: the Wishart distribution cannot be used for MCMC sampling, since a step to a "
            "symmetric matrix has probability zero. Use LKJCholeskyCov, LKJCorr or WishartBartlett instead."
        )
        warnings.warn(text, UserWarning, stacklevel=6)  # the user's call of `sample`

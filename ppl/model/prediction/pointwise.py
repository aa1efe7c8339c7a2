"""Log-densities of draws, entry by entry: what `az.loo`, `az.compare` and power-scaling need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl.model.arguments import check_keys, chosen_names
from ppl.model.bar import Bar
from ppl.model.context import model_to_read
from ppl.model.inputs.minibatches import refuse_minibatches
from ppl.model.inputs.read_once import refuse_read_once
from ppl.model.output import results
from ppl.model.output.sampler_warnings import not_numbers, tell
from ppl.model.output.traces import from_trace
from ppl.model.posterior.density import Joint
from ppl.model.prediction.draw_rows import RowProgram, draw_keys, over_draws
from ppl.model.prediction.forwards import drawn_over, keys_of_streams
from ppl.model.seeds import seed_of
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.tensor import Tensor, TensorType, placeholder

if TYPE_CHECKING:
    from ppl.model.model import Model


def log_likelihood_values(
    model: Model, values: Mapping[str, np.ndarray], names: Any = None, bar: Bar | None = None
) -> dict[str, np.ndarray]:
    """The log-density of each observed value under each draw; `values` are free variables, (chains, draws, ...)."""
    return _terms(model, values, [rv.name or "" for rv in model.observed_RVs], names, "log_likelihood", bar)


def log_prior_values(
    model: Model, values: Mapping[str, np.ndarray], names: Any = None, bar: Bar | None = None
) -> dict[str, np.ndarray]:
    """The log-density of each free variable under its prior."""
    return _terms(model, values, [rv.name or "" for rv in model.free_RVs], names, "log_prior", bar)


def _terms(
    model: Model, values: Mapping[str, np.ndarray], known: Sequence[str], names: Any, what: str, bar: Bar | None
) -> dict[str, np.ndarray]:
    given = [names] if isinstance(names, str) else list(names or ())
    others = [str(name) for name in given if name not in known and name in model.named_vars]
    if others:
        kind = "observed" if what == "log_likelihood" else "free"
        raise ValueError(f"{what}: {', '.join(others)} is no {kind} variable; there are {', '.join(known) or 'none'}")
    wanted = list(known) if names is None else chosen_names(what, names, known)
    if not wanted:
        return {}
    if what == "log_likelihood":
        refuse_read_once(model, wanted, what)
    joint = at_draws(model)
    by_name = {rv.name or "": term for rv, term in joint.terms.items()}
    refuse_minibatches(by_name[name] for name in wanted)
    by_name |= {rv.name or "": _given_others(joint, rv) for rv in model.processes if rv.name in wanted}
    found = evaluated(joint, {name: by_name[name] for name in wanted}, values, bar)
    tell(not_numbers(found, f"draws of the {what}", lowest=-np.finfo(float).max))
    return found


def _given_others(joint: Joint, rv: Any) -> Tensor:
    """The log-density of each point of a process given the others, in closed form (Sundararajan & Keerthi 2001). These
    do not add up to the joint one; the importance weights of leaving a point out are their inverses all the same."""
    found: Tensor = rv.family.given_others(joint.values[rv], *[joint.at_values(p) for p in rv.parameters])
    return found


def at_draws(model: Model) -> Joint:
    """The joint density with symbols for the free variables themselves, as draws have them: densities written for
    unconstrained values (a logarithm of shares as one of weights) would not depend on these."""
    return Joint(model, given={rv: placeholder(TensorType(rv.dtype, rv.type.shape), rv.name) for rv in model.free_RVs})


def evaluated(
    joint: Joint, outputs: Mapping[str, Tensor], values: Mapping[str, np.ndarray], bar: Bar | None = None
) -> dict[str, np.ndarray]:
    """Expressions of a joint density at draws, for every draw of the free variables."""
    missing = [rv.name for rv in joint.given if rv.name not in values]
    if missing:
        raise KeyError(f"the draws have no values of {', '.join(map(str, missing))}, which the density needs")
    columns = [np.asarray(values[rv.name or ""]).astype(rv.dtype) for rv in joint.given]
    inputs, key = list(joint.given.values()), placeholder(KEY_TYPE, "key")
    wanted = list(outputs.values())
    if keys_of_streams(wanted, key, {}):  # other random rows for every draw
        rows = draw_keys(seed_of(None), "streams", *columns[0].shape[:2])
        found = drawn_over(wanted, dict(zip(inputs, inputs, strict=True)), [rows, *columns], shown=bar)
    else:
        found = over_draws(RowProgram(inputs, wanted), columns, shown=bar)
    return dict(zip(outputs, found, strict=True))


def compute_log_likelihood(
    idata: Any,
    *,
    var_names: Any = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
    sample_dims: Sequence[str] = results.CHAINS,
    progressbar: bool = True,
    compile_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The pointwise log-likelihood of a result: added to it as group `log_likelihood`, or as a Dataset by itself.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[0.3, 0.1])
    ...     posterior = pm.sample(100, chains=1, random_seed=1, quiet=True)
    ...     result = pm.compute_log_likelihood(posterior, progressbar=False)
    >>> result.log_likelihood["y"].shape
    (1, 100, 2)
    """
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    model = model_to_read(model)
    compute = partial(log_likelihood_values, bar=Bar("Computing log-likelihood", progressbar))
    return _group(idata, "log_likelihood", compute, var_names, extend_inferencedata, model, sample_dims)


def compute_log_prior(
    idata: Any,
    *,
    var_names: Any = None,
    extend_inferencedata: bool = True,
    model: Model | None = None,
    sample_dims: Sequence[str] = results.CHAINS,
    progressbar: bool = True,
    compile_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The log-density of each free variable under its prior, as group `log_prior` or as a Dataset by itself.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     posterior = pm.sample(100, chains=1, random_seed=1, quiet=True)
    ...     result = pm.compute_log_prior(posterior, progressbar=False)
    >>> result.log_prior["mu"].shape
    (1, 100)
    """
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    model = model_to_read(model)
    compute = partial(log_prior_values, bar=Bar("Computing log-prior", progressbar))
    return _group(idata, "log_prior", compute, var_names, extend_inferencedata, model, sample_dims)


def _group(
    idata: Any, name: str, compute: Any, var_names: Any, extend: bool, model: Model, sample_dims: Sequence[str]
) -> Any:
    draws = from_trace(idata, sample_dims)
    values = compute(model, draws.values, var_names)
    group = draws.as_group(model, values)
    return results.extend(idata, {name: group}) if extend else group.dataset()


def compute_deterministics(
    dataset: Any,
    *,
    var_names: Any = None,
    model: Model | None = None,
    sample_dims: Sequence[str] = results.CHAINS,
    merge_dataset: bool = False,
    progressbar: bool = True,
    compile_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """The deterministics of a model for draws of its free variables, as a Dataset, alone or together with the draws.

    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     twice = pm.Deterministic("twice", 2 * mu)
    ...     posterior = pm.sample(100, chains=1, random_seed=1, quiet=True)
    ...     found = pm.compute_deterministics(posterior.posterior, progressbar=False)
    >>> list(found.data_vars)
    ['twice']
    """
    check_keys("compile_kwargs", compile_kwargs, ("mode",))
    model = model_to_read(model)
    known = [d.name or "" for d in model.deterministics]
    wanted = known if var_names is None else chosen_names("var_names", var_names, known)
    draws = from_trace(dataset, sample_dims)
    joint = at_draws(model)
    outputs = {name: joint.at_values(model.named_vars[name]) for name in wanted}
    bar = Bar("Computing deterministics", progressbar)
    values = evaluated(joint, outputs, draws.values, bar) if outputs else {}
    tell(not_numbers(values))
    found = draws.as_group(model, values).dataset()
    return dataset.assign({name: found[name] for name in found.data_vars}) if merge_dataset else found

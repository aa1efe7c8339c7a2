"""From a run to its result: the values of every name, statistics, data, attributes."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ppl.compile.density import Slot, labels
from ppl.distributions import RandomVariable, is_draw
from ppl.distributions.draws.drawing import expand_draws
from ppl.graph import Node, ancestors, substitute
from ppl.model.certificate.certificate import Certificate, CertificateError, Notary, doubts, failure, not_judged
from ppl.model.errors import SamplingError
from ppl.model.finishing import checks
from ppl.model.finishing.data_of_run import DataOfRun
from ppl.model.finishing.failure_report import failure_report
from ppl.model.finishing.kept_draws import result_error
from ppl.model.log import silenced
from ppl.model.output import results
from ppl.model.output.hidden import shown
from ppl.model.output.multitrace import MultiTrace
from ppl.model.output.result_in_zarr import keep_result
from ppl.model.output.sample_stats import complete
from ppl.model.output.sampler_report import SamplerReport
from ppl.model.output.sampler_warnings import SamplerWarning, infinite, not_numbers, tell
from ppl.model.posterior.rewriting import Posterior
from ppl.model.posterior.values import Remembered
from ppl.model.prediction.draw_rows import RowProgram, compiled, draw_keys, over_draws
from ppl.model.prediction.forwards import keys_of_streams
from ppl.model.prediction.pointwise import log_likelihood_values, log_prior_values
from ppl.rewrites import optimize
from ppl.tensor.sampling.draws import KEY_TYPE
from ppl.tensor.sampling.subkeys import Subkeys
from ppl.tensor.tensor import Tensor, placeholder
from ppl.xla.later import is_loaded, jax

BLOCK = 64  # draws of a chain that a callback is given at once


class Request(NamedTuple):
    """What the user asked the result to be."""

    names: Sequence[str]
    seed: int
    tune: int
    keep_warmup: bool
    checked: bool
    quiet: bool
    as_arviz: bool
    options: Mapping[str, Any]
    stat_names: Mapping[str, str]
    certified: int | None = None  # at how many draws the run checks itself; None: as many as cost little
    lp_of_draws: bool = True  # whether `lp` is the log-density of the draw, not of a step on the way to it
    chosen: bool = False  # whether the names are those that the user listed

    def shown(self, values: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The values that the result holds."""
        if self.chosen or self.options.get("include_transformed"):
            return values
        return {name: values[name] for name in shown(values)}


def _transformed(posterior: Posterior, slots: Sequence[Slot]) -> dict[str, Tensor]:
    """The unconstrained values of all transformed variables, of those too that rewriting took from the sampler."""
    model, moved = posterior.model, {slot.variable for slot in slots}
    shown: dict[Node, Node] = {model.named_vars[name]: output for name, output in posterior.outputs.items()}
    found: dict[str, Tensor] = {}
    for rv in model.free_RVs:
        value, transform = model.rvs_to_values[rv], model.rvs_to_transforms[rv]
        if transform is not None and isinstance(rv, RandomVariable):
            inputs = [substitute(p, shown) for p in rv.parameters]
            found[value.name or ""] = value if value in moved else transform.forward(shown[rv], *inputs)
    return found


def _program_of(
    outputs: list[Tensor], variables: Sequence[Tensor], of_data: Remembered
) -> tuple[Subkeys | None, RowProgram]:
    """Outputs as a program of the sampled values, and of keys if there is something to draw."""
    keys, inputs, key = None, list(variables), placeholder(KEY_TYPE, "key")
    streams = keys_of_streams(outputs, key, {})
    if streams or any(map(is_draw, ancestors(outputs))):
        keys = Subkeys(expand_draws(outputs, key, streams), key)
        outputs = keys.outputs
        inputs.append(keys.input)
    return keys, RowProgram(inputs, optimize(outputs), once=of_data)


class Finisher:
    """Makes results from runs, whole or partial."""

    def __init__(self, posterior: Posterior, slots: list[Slot], request: Request) -> None:
        self.posterior, self.slots, self.request = posterior, slots, request
        self._data = DataOfRun(posterior.model)
        wanted = {name: posterior.outputs[name] for name in request.names}
        plain = not request.as_arviz and len(wanted) == len(posterior.outputs)  # as in PyMC's own traces
        if request.options.get("include_transformed") or plain:
            wanted |= _transformed(posterior, slots)
        self._names = list(wanted)
        self._preparing: threading.Thread | None = None
        self.facts: dict[str, Any] = {}  # further attributes of the result
        self.directory: Any = None  # where the run is saved, if it is
        self.in_zarr = False  # whether by Zarr, so that the result is kept there too
        self._wanted = wanted
        self._refuse_densities()
        variables = tuple(slot.variable for slot in slots)
        key = ("results", *map(id, variables), *self._names)
        self._keys, self.program = posterior.once(
            key, lambda: _program_of(list(wanted.values()), variables, posterior.of_data)
        )

    def is_by_numpy(self, draws: int) -> bool:
        """Whether results for so many draws of a chain need no program."""
        return self.program.at_once(draws) is not None

    def prepare(self, chains: int, draws: int) -> None:
        """Begin to compile what results need, beside the sampler's program, which takes about as long."""
        if self._preparing is not None:
            return
        kinds = [(slot.variable.dtype, slot.shape) for slot in self.slots]
        if self._keys is not None:
            kinds.append((self._keys.input.dtype, self._keys.input.type.shape))
        columns = [np.broadcast_to(np.zeros((), dtype), (chains, draws, *shape)) for dtype, shape in kinds]

        def both() -> None:
            compiled(self.program, columns)
            if self.request.certified != 0:
                self._notary().prepare(chains * draws, self.request.certified)

        compiling = threading.Thread(target=both, name="compile-results")
        if columns:
            self.posterior.once(("compiling", self.program, draws), compiling.start)
            self._preparing = compiling if compiling.ident is not None else None

    def prepared(self) -> None:
        """Wait until what was begun is compiled."""
        if self._preparing is not None:
            self._preparing.join()

    def values(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Every name for every draw, (chains, draws, ...)."""
        columns = [slot.read(positions) for slot in self.slots]
        if self._keys is not None:
            columns.append(self._keys.of(draw_keys(self.request.seed, "recover", *positions.shape[:2])))
        if not columns:
            return {}
        return dict(zip(self._names, over_draws(self.program, columns), strict=True))

    def _notary(self) -> Notary:
        """What certifies the draws."""
        key = ("certificate", *(slot.variable for slot in self.slots), *self._names)
        found: Notary = self.posterior.once(key, lambda: Notary(self.posterior, self.slots, self._wanted))
        return found

    def _certificate(self, run: Any, stats: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray]) -> Certificate:
        """Whether the draws of a run agree with the model as it is written."""
        if self.request.certified == 0:
            return not_judged("certificate=False")
        if not run.draws:
            return not_judged("there are no draws")
        self.prepared()
        lp = stats.get("lp") if self.request.lp_of_draws else None
        return self._notary().certify(run, lp, values, self.request.seed, self.request.certified)

    def rows(self, chain: int, first: int, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Every name for some draws of one chain, warm-up counted, in blocks of one size: one program serves all."""
        tune, seed = self.request.tune, self.request.seed
        parts: list[dict[str, np.ndarray]] = []
        for start in range(0, len(positions), BLOCK):
            block = positions[start : start + BLOCK]
            padded = np.concatenate([block, np.repeat(block[-1:], BLOCK - len(block), axis=0)])
            columns = [slot.read(padded[None]) for slot in self.slots]
            if self._keys is not None:
                at = np.arange(first + start, first + start + BLOCK)
                at = np.where(at < tune, at, at - tune)
                columns.append(self._keys.of(draw_keys(seed, "recover", chain + 1, at.max() + 1)[chain, at])[None])
            found = over_draws(self.program, columns)
            parts.append({n: v[0, : len(block)] for n, v in zip(self._names, found, strict=True)})
        return {name: np.concatenate([part[name] for part in parts]) for name in self._names} if parts else {}

    def __call__(self, run: Any, final: bool) -> Any:
        known: dict[str, np.ndarray] = {}
        try:
            with silenced(self.request.quiet or not final), self._data.again():
                return self._result(run, final, known)
        except CertificateError:  # it has the result
            raise
        except BaseException as error:
            if not final or not run.draws:
                raise
            moved = {slot.variable.name or "": slot.read(run.positions) for slot in self.slots}
            kept = result_error(error, {**moved, **known}, run.stats, self.directory)
            if isinstance(error, Exception):
                raise kept from error
            if kept.path:
                error.add_note(f"The draws are saved in {kept.path}.")
            raise

    def _result(self, run: Any, final: bool, known: dict[str, np.ndarray]) -> Any:
        """The result of a run; what its names are worth goes into `known` as soon as that is worked out."""
        request, model = self.request, self.posterior.model
        if request.as_arviz:
            results.prepared()
        checked, found = final and request.checked, []
        if checked and not run.draws:
            stopped = "Sampling was stopped while it was tuning" if run.interrupted else "No draws were asked for"
            text = f"{stopped}: there is no draw to check."
            found = [SamplerWarning("info", text)]
        elif checked:
            found = checks.convergence(run, labels(self.slots, self.posterior.names))
        failed = failure_report(run, self.posterior, self.slots) if final else None
        values = self.values(run.positions)
        known.update(values)
        if failed is not None:
            found += checks.failed(failed.line())
            found += not_numbers(values)
            found += infinite({rv.name: values[rv.name] for rv in model.free_RVs if rv.name in values})
        stats = complete(run.stats, request.stat_names)
        certificate = self._certificate(run, stats, values) if final else not_judged("sampling goes on")
        found += doubts(certificate)
        tell(found)
        if not request.as_arviz:
            data = {v.name or "": v.get_value() for v in model.data_vars}
            length = next((value.shape[1] for value in values.values()), 0)
            report = SamplerReport(found, length, request.tune, float(run.sampling_seconds))
            return self._unless_refuted(MultiTrace(values, stats, run.chains, report, data), certificate, values)
        attrs = self._attrs(run, found) | {"certificate": str(certificate), "certificate_error": certificate.error}
        attrs |= failed.attrs() if failed is not None else {}
        more = {k: request.options.get(k) for k in ("coords", "dims")}
        chains = {"chain": np.asarray(run.chains)}
        groups = {
            "posterior": results.group(model, request.shown(values), attrs=attrs, sample_coords=chains, **more),
            "sample_stats": results.group(model, stats, attrs=attrs, sample_coords=chains),
        }
        tuned = self.values(run.warmup_positions) if request.keep_warmup and run.warmup_positions is not None else {}
        if any(np.shape(array)[1] for array in tuned.values()):
            warm_stats = complete(run.warmup_stats, request.stat_names)
            groups["warmup_posterior"] = results.group(
                model, request.shown(tuned), attrs=attrs, sample_coords=chains, **more
            )
            groups["warmup_sample_stats"] = results.group(model, warm_stats, attrs=attrs, sample_coords=chains)
        groups |= self._densities(values, run, chains, more)
        result = results.collect({**groups, **results.given_groups(model, **more)})
        if final and self.in_zarr and certificate.verdict != "fails":
            keep_result(self.directory, result)
        return self._unless_refuted(result, certificate, values)

    def _unless_refuted(self, result: Any, certificate: Certificate, values: Mapping[str, np.ndarray]) -> Any:
        """The result, where its draws do not contradict the model."""
        if certificate.verdict == "fails":
            raise CertificateError(failure(certificate, self.posterior, values, self.request.seed), result)
        return result

    def _densities(self, values: Mapping[str, np.ndarray], run: Any, chains: Any, more: Any) -> dict[str, Any]:
        """The groups of pointwise log-densities that were asked for."""
        groups, model = {}, self.posterior.model
        for name, compute in (("log_likelihood", log_likelihood_values), ("log_prior", log_prior_values)):
            wanted = self.request.options.get(name)
            if not wanted:
                continue
            terms = compute(model, dict(values), None if wanted is True else wanted)
            groups[name] = results.group(model, terms, sample_coords=chains, **more)
        return groups

    def _refuse_densities(self) -> None:
        """Raise before sampling where log-densities are asked for that the result cannot have."""
        missing = [rv.name for rv in self.posterior.model.free_RVs if rv.name not in self._wanted]
        for name in ("log_likelihood", "log_prior"):
            if missing and self.request.options.get(name):
                raise ValueError(
                    f"idata_kwargs {name}: it needs every free variable, but var_names leaves out {missing}"
                )

    def _attrs(self, run: Any, found: Sequence[SamplerWarning]) -> dict[str, Any]:
        return {
            "sampling_time": float(run.sampling_seconds),
            "tuning_steps": self.request.tune,
            "compile_time": float(run.compile_seconds),
            "seed": self.request.seed,
            **_computed_by(),
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
            "interrupted": int(run.interrupted),
            "rewrite_plan": "as written" if self.posterior.plan is None else str(self.posterior.plan),
            **_sources(self.posterior.model),
            **self.facts,
            **getattr(run, "facts", {}),
            "sampler_warnings": "\n".join(f"{w.level}: {w.message}" for w in found),
        }


def _sources(model: Any) -> dict[str, str]:
    """What is kept of rows that were read once."""
    told = "\n".join(f"{name}: {words}" for name, words in model.read_once.items())
    return {"read_once": told} if told else {}


def refuse_too_large(sizes: Mapping[str, int], chains: int, draws: int) -> None:
    """Raise before sampling when a result cannot fit into memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**63
    total = 8 * chains * draws * sum(sizes.values())
    if total > memory:
        name, size = max(sizes.items(), key=lambda item: item[1])
        raise SamplingError(
            f"The result would take {total / 2**30:.0f} GiB, and this machine has {memory / 2**30:.0f} GiB of memory:"
            f' "{name}" alone has {size:,} entries a draw. Leave it out with var_names=, or make fewer draws.'
        )


def _computed_by() -> dict[str, str]:
    """By what, and on which device, the draws were made: where no program was needed JAX has not been loaded."""
    if not is_loaded():
        return {"backend": "numpy", "numpy_version": np.__version__, "device": "cpu:cpu"}
    device = jax.devices()[0]
    return {"backend": "jax", "jax_version": jax.__version__, "device": f"{device.platform}:{device.device_kind}"}

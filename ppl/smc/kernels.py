"""Kernels of sequential Monte Carlo, by PyMC's names: what moves the particles at one temperature.

A kernel of your own is a subclass of `SMC_KERNEL` with a `mutate`, or of one of the kernels below it; each of its
methods is called once a stage, in the order `update_beta_and_weights`, `resample`, `tune`, `mutate`, `sample_stats`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ppl.model.arguments import check_keys
from ppl.model.context import modelcontext
from ppl.model.errors import SamplingError
from ppl.model.starting.start_report import start_report
from ppl.samplers import DRAWS, PROGRAMS, turn
from ppl.samplers.tempering import moves
from ppl.samplers.tempering.evidence import Evidence, Stage, path_evidence
from ppl.samplers.tempering.weights import reweighted, systematic_resampling
from ppl.smc.simulators import naming_simulators
from ppl.smc.tempered import Tempered, tempered
from ppl.xla.later import jax, wide

PRIOR_DRAWS = 16  # for each particle: the evidence is as well known as the average of the likelihood under the prior

# Times that a particle moves at a temperature, on average and at least. What is seen on the way tells of the evidence;
# where each look is a simulation by Python it costs more than that is worth.
ACCEPTED = {"evaluated": 10.0, "simulated": 1.0}


class SMC_KERNEL(abc.ABC):  # noqa: N801  PyMC's name
    """What sequential Monte Carlo does at each stage.

    Attributes: `tempered_posterior` has the positions of the particles, (draws, dimensions), `prior_logp` and
    `likelihood_logp` the two parts of their log-density, `tempered_posterior_logp` that at the inverse temperature
    `beta`, `weights` and `resampling_indexes` those of the last resampling; `rng` is the generator of this chain, and
    `var_info` has shape and size of each value by name.
    """

    def __init__(
        self,
        draws: int = 2000,
        start: Mapping[str, Any] | None = None,
        model: Any = None,
        random_seed: Any = None,
        threshold: float = 0.5,
        compile_kwargs: Mapping[str, Any] | None = None,
        rewrite: bool = True,
        protect: Any = (),
    ) -> None:
        if not 0 <= threshold <= 1:
            raise ValueError(f"Threshold value {threshold} must be between 0 and 1")
        check_keys("compile_kwargs", compile_kwargs, ("mode",))
        self.draws, self.start, self.threshold = draws, start, threshold
        self.rng = np.random.default_rng(random_seed)
        model = modelcontext(model)
        self.path: Tempered = tempered(model, rewrite and not start, protect)
        self.variables = [slot.variable for slot in self.path.slots]
        self.var_info = {s.variable.name or "": (s.shape, s.stop - s.start) for s in self.path.slots}
        self._reset_state()

    def _reset_state(self) -> None:
        """As before the first stage."""
        self.tempered_posterior: Any = np.empty(0)
        self.prior_logp: Any = None
        self.likelihood_logp: Any = None
        self.tempered_posterior_logp: Any = None
        self.log_marginal_likelihood = self.path.constant
        self.beta, self.iteration = 0.0, 0
        self.resampling_indexes: Any = None
        self.weights = np.ones(self.draws) / self.draws
        self.ancestors = np.arange(self.draws)
        self.seen: Any = None  # the log-likelihoods after each move of a stage, (moves, draws)
        self.effective = float(self.draws)
        self._stages: list[Stage] = []
        self._guess: list[float] = []

    def prior_logp_func(self, position: Any) -> Any:
        """Log-density of the start of the path at a position, or at several, (n, dimensions)."""
        return self._at(position)[0]

    def likelihood_logp_func(self, position: Any) -> Any:
        """Log-likelihood at a position, or at several."""
        return self._at(position)[1]

    def _at(self, position: Any) -> tuple[Any, Any]:
        rows = np.atleast_2d(np.asarray(position, float))
        keys = self.rng.integers(2**32, size=(len(rows), 2), dtype=np.uint32)
        found = self.path.at(rows, keys)
        prior, likelihood = (np.where(np.isnan(x), -np.inf, x) for x in found)
        likelihood = np.where(np.isneginf(prior), -np.inf, likelihood)
        return (prior, likelihood) if np.ndim(position) == 2 else (prior[0], likelihood[0])

    def initialize_population(self) -> dict[str, np.ndarray]:
        """Values of all particles by name, on the unconstrained scale: draws of the prior."""
        positions = self.path.prior_draws(int(self.rng.integers(2**62)), self.draws)
        read = lambda slot: positions[:, slot.start : slot.stop].reshape(self.draws, *slot.shape)
        return {slot.variable.name or "": read(slot) for slot in self.path.slots}

    def _initialize_kernel(self) -> None:
        """Particles, and the two parts of their log-density. Not to be overridden: `setup_kernel` is."""
        values = self.start or self.initialize_population()
        self.tempered_posterior = np.concatenate([self._column(values, s) for s in self.path.slots], axis=1)
        self.prior_logp, self.likelihood_logp = self._at(self.tempered_posterior)
        self._refuse_start()
        self._stages.append(self._prior_stage(began_at_prior=not self.start))
        self._guess.append(0.0)

    def _prior_stage(self, began_at_prior: bool) -> Stage:
        """What is known of the likelihood under the prior: that of the particles, and of further draws, which cost one
        look each where particles of later stages cost several."""
        seen = self.likelihood_logp
        own = type(self).initialize_population is not SMC_KERNEL.initialize_population
        if began_at_prior and not own and not self.path.simulates:
            count = (PRIOR_DRAWS - 1) * self.draws
            seen = np.concatenate([seen, self._at(self.path.prior_draws(int(self.rng.integers(2**62)), count))[1]])
        return Stage(0.0, seen[None], np.arange(len(seen)), float(len(seen)))

    def _column(self, values: Mapping[str, Any], slot: Any) -> np.ndarray:
        name = slot.variable.name or ""
        if name not in values:
            raise KeyError(f'start: no values of "{name}", of which each particle needs one; there are {list(values)}')
        given = np.asarray(values[name], float)
        if given.shape != (self.draws, *slot.shape):
            raise ValueError(
                f'start: "{name}" has shape {given.shape}; the particles need {(self.draws, *slot.shape)}, one'
                " unconstrained value for each."
            )
        return given.reshape(self.draws, -1)

    def _refuse_start(self) -> None:
        """Raise where no particle has a finite density."""
        if np.any(np.isfinite(self.prior_logp + self.likelihood_logp)):
            return
        path = self.path
        if path.simulates:
            raise SamplingError(
                "sample_smc: no particle drawn from the prior has a finite log-density. The distance between what is"
                " simulated and observed is infinite or not a number: look at the simulator, sum_stat and distance."
            )
        report = start_report(path.posterior, path.slots, self.tempered_posterior[0])
        raise SamplingError(f"sample_smc: no particle has a finite log-density at the start.\n{report}")

    def setup_kernel(self) -> None:  # noqa: B027  for those that need it
        """What is done once, before the first stage."""

    def update_beta_and_weights(self) -> None:
        """The next inverse temperature, the weights of the particles there, and the evidence up to it."""
        self.iteration += 1
        found = reweighted(self.likelihood_logp, self.beta, self.threshold)
        self.beta, self.weights = found.beta, found.weights
        self.log_marginal_likelihood += found.log_mean

    def resample(self) -> None:
        """Particles by their weights: some several times, some not at all."""
        self.resampling_indexes = chosen = systematic_resampling(self.weights, self.rng)
        self.tempered_posterior = self.tempered_posterior[chosen]
        self.prior_logp, self.likelihood_logp = self.prior_logp[chosen], self.likelihood_logp[chosen]
        self.tempered_posterior_logp = self.prior_logp + self.likelihood_logp * self.beta

    def tune(self) -> None:  # noqa: B027  for those that need it
        """What is adapted to the particles before they move."""

    @abc.abstractmethod
    def mutate(self) -> None:
        """Move the particles, leaving the tempered posterior as it is."""

    @abc.abstractmethod
    def sample_stats(self) -> dict[str, Any]:
        """Statistics of a stage, by name."""

    @abc.abstractmethod
    def sample_settings(self) -> dict[str, Any]:
        """Settings of a chain, for the attributes of the result."""

    def initialize(self, start: Mapping[str, Any] | None, rng: np.random.Generator) -> None:
        """Begin a chain."""
        self.start, self.rng = start, rng
        self._reset_state()
        self._initialize_kernel()
        self.setup_kernel()

    def step(self) -> dict[str, Any]:
        """One stage after its temperature is known."""
        self.resample()
        self.ancestors = self.ancestors[self.resampling_indexes]
        self.seen, self.effective = None, float(self.draws)
        self.tune()
        self.mutate()
        self._note(self.log_marginal_likelihood - self.path.constant)
        return self.sample_stats()

    def _note(self, guess: float) -> None:
        """Keep what the evidence is estimated from."""
        seen = self.likelihood_logp[None] if self.seen is None else self.seen
        self._stages.append(Stage(self.beta, seen, self.ancestors, self.effective))
        self._guess.append(guess)

    @property
    def evidence(self) -> Evidence:
        """The log marginal likelihood from all particles of all stages, and its standard error; where a subclass has
        weights of its own, that which it computes."""
        own = [
            getattr(type(self), name) is not getattr(SMC_KERNEL, name) for name in ("update_beta_and_weights", "step")
        ]
        if any(own):
            return Evidence(self.log_marginal_likelihood, np.nan)
        found = path_evidence(self._stages, self._guess)
        return Evidence(found.log_z + self.path.constant, found.error)

    def _run(self, what: str, move: Callable[..., Any], learn: Any, tuning: Any, carried: Any, threshold: float) -> Any:
        """All moves of a stage; the particles are where they went afterwards."""
        path = self.path
        particles = moves.Particles(self.tempered_posterior, self.prior_logp, self.likelihood_logp)
        key = self.rng.integers(2**32, size=2, dtype=np.uint32)
        least = np.float64(ACCEPTED["simulated" if path.simulates else "evaluated"])
        given = (
            key,
            np.float64(self.beta),
            particles,
            tuning,
            carried,
            np.float64(threshold),
            least,
            path.program.data,
        )
        with wide():
            make = lambda: moves.stage(path.density, move, learn)
            run = PROGRAMS.get(("smc", what, path.program.key), make, given, DRAWS)
            with naming_simulators(path.posterior.model), turn(run):
                moved = jax.tree.map(np.asarray, run(*given))
        self.tempered_posterior, self.prior_logp, self.likelihood_logp = moved.particles
        self.tempered_posterior_logp = self.prior_logp + self.beta * self.likelihood_logp
        self.n_steps = int(moved.steps) + 1
        self.seen = moved.seen[: int(moved.steps)]
        self.effective = self.draws * max(1.0, float(moved.accepted.mean()))
        self._accepted = moved.accepted / int(moved.steps)
        return moved.learned


def cloud_of(positions: np.ndarray) -> moves.Cloud:
    """The normal law of particles. Where there are many dimensions for them, or few different ones, correlations are
    drawn towards zero."""
    count, dim = positions.shape
    mean = positions.mean(axis=0)
    covariance = np.atleast_2d(np.cov(positions, ddof=0, rowvar=False))
    if not np.isfinite(covariance).all():
        raise ValueError('Sample covariances not valid! Likely "draws" is too small!')
    different = len(np.unique(positions[:, 0])) if dim else count
    shrinkage = dim / (dim + different)
    diagonal = np.diag(covariance) + 1e-12
    covariance = (1.0 - shrinkage) * covariance + np.diag(shrinkage * diagonal + 1e-9 * diagonal)
    return moves.Cloud(mean, np.linalg.cholesky(covariance))


class IMH(SMC_KERNEL):
    """Independent Metropolis-Hastings: proposals of a normal law with mean and covariance of the particles.

    The lower `correlation_threshold`, the more moves a stage makes.
    """

    def __init__(self, *args: Any, correlation_threshold: float = 0.01, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.correlation_threshold = correlation_threshold
        self.proposal_dist: Any = None
        self.acc_rate: Any = None
        self.n_steps = 1

    def tune(self) -> None:
        self.proposal_dist = cloud_of(self.tempered_posterior)

    def mutate(self) -> None:
        cloud = self.proposal_dist
        standard = np.linalg.solve(cloud.factor, (self.tempered_posterior - cloud.mean).T).T
        self._run("IMH", moves.independent, None, cloud, np.ascontiguousarray(standard), self.correlation_threshold)
        self.acc_rate = float(self._accepted.mean())

    def sample_stats(self) -> dict[str, Any]:
        lml = self.log_marginal_likelihood if self.beta == 1 else np.nan
        return {"log_marginal_likelihood": lml, "beta": self.beta, "accept_rate": self.acc_rate}

    def sample_settings(self) -> dict[str, Any]:
        return {
            "_n_draws": self.draws, "threshold": self.threshold, "_n_tune": self.n_steps,
            "correlation_threshold": self.correlation_threshold,
        }  # fmt: skip


class MH(SMC_KERNEL):
    """Metropolis: steps of a normal law with the covariance of the particles, each as long as the acceptance of its
    particle has made it.

    The lower `correlation_threshold`, the more moves a stage makes.
    """

    def __init__(self, *args: Any, correlation_threshold: float = 0.01, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.correlation_threshold = correlation_threshold
        self.proposal_dist: Any = None
        self.proposal_scales: Any = None
        self.chain_acc_rate: Any = None
        self.n_steps = 1

    def setup_kernel(self) -> None:
        self.proposal_scales = np.full(self.draws, min(1.0, 2.38**2 / self.tempered_posterior.shape[1]))

    def resample(self) -> None:
        super().resample()
        if self.iteration > 1:
            self.proposal_scales = self.proposal_scales[self.resampling_indexes]
            self.chain_acc_rate = self.chain_acc_rate[self.resampling_indexes]

    def tune(self) -> None:
        if self.iteration > 1:
            scales = np.exp(np.log(self.proposal_scales) + (self.chain_acc_rate - 0.234))
            self.proposal_scales = 0.5 * (scales + scales.mean())
        self.proposal_dist = cloud_of(self.tempered_posterior)

    def mutate(self) -> None:
        tuning = moves.Scaled(self.proposal_dist, self.proposal_scales)
        self._run("MH", moves.random_walk, None, tuning, np.zeros(self.draws), self.correlation_threshold)
        self.chain_acc_rate = self._accepted

    def sample_stats(self) -> dict[str, Any]:
        return {
            "log_marginal_likelihood": self.log_marginal_likelihood if self.beta == 1 else np.nan,
            "beta": self.beta,
            "mean_accept_rate": float(self.chain_acc_rate.mean()),
            "mean_proposal_scale": float(self.proposal_scales.mean()),
        }

    def sample_settings(self) -> dict[str, Any]:
        return {
            "_n_draws": self.draws, "threshold": self.threshold, "_n_tune": self.n_steps,
            "correlation_threshold": self.correlation_threshold,
        }  # fmt: skip


class HMC(SMC_KERNEL):
    """Hamiltonian Monte Carlo: trajectories along gradients, in coordinates in which the particles are about standard
    normal. For twenty dimensions and more, where independent proposals are hardly ever accepted.

    Its step size follows the acceptance, to four fifths. The lower `correlation_threshold`, the more moves.
    """

    def __init__(self, *args: Any, correlation_threshold: float = 0.01, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.correlation_threshold = correlation_threshold
        self.n_steps, self.step_size, self.acc_rate = 1, 1.0, np.nan
        whole = [s.variable.name for s in self.path.slots if s.variable.dtype[0] != "f"]
        if whole or self.path.simulates:
            why = f"{', '.join(map(str, whole))} discrete" if whole else "simulations without a gradient"
            raise ValueError(f"pm.smc.HMC follows gradients, and the model has {why}: use pm.smc.IMH or pm.smc.MH.")

    def setup_kernel(self) -> None:
        self.step_size = 1.0 / self.tempered_posterior.shape[1] ** 0.25

    def mutate(self) -> None:
        tuning = moves.Stepping(cloud_of(self.tempered_posterior), np.float64(np.log(self.step_size)))
        learned = self._run(
            "HMC", moves.hamiltonian, moves.learn_step, tuning, np.zeros(self.draws), self.correlation_threshold
        )
        self.step_size = float(np.exp(learned.log_step))
        self.acc_rate = float(self._accepted.mean())

    def sample_stats(self) -> dict[str, Any]:
        return {
            "log_marginal_likelihood": self.log_marginal_likelihood if self.beta == 1 else np.nan,
            "beta": self.beta, "accept_rate": self.acc_rate, "step_size": self.step_size,
        }  # fmt: skip

    def sample_settings(self) -> dict[str, Any]:
        return {
            "_n_draws": self.draws, "threshold": self.threshold, "_n_tune": self.n_steps,
            "correlation_threshold": self.correlation_threshold,
        }  # fmt: skip

"""Fitting an approximation to a posterior: `fit`, and the classes that it is a shortcut to.

Without an optimizer (`obj_optimizer=`) a fit of one normal group is deterministic: it runs until it has converged, in
at most `n` steps, and says so. With one, or with minibatches, `n` stochastic steps are made, by PyMC's algorithm.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ppl.model.arguments import count
from ppl.model.bar import Bar
from ppl.model.log import log
from ppl.model.output import results
from ppl.variational import pathfinder as paths
from ppl.variational.approximations import Approximation, Empirical, FullRank, MeanField, Report
from ppl.variational.deterministic import MANY, engine_for
from ppl.variational.laplace import fit_laplace_approximation
from ppl.variational.operators import KL, KSD, Operator
from ppl.variational.steps import Steps
from ppl.variational.stochastic import Averaged, report_of, run
from ppl.variational.test_functions import KERNELS, rbf

# What a step is made of; any of these asks for stochastic steps.
OF_STEPS = (
    "obj_optimizer obj_n_mc test_optimizer tf_n_mc more_obj_params more_tf_params more_updates more_replacements"
    " total_grad_norm_constraint"
).split()
TELLING = ("obj_optimizer", "more_obj_params", "more_updates", "more_replacements", "total_grad_norm_constraint")


class State(tuple):  # type: ignore[type-arg]
    """Where a fit is: the number of steps, what makes them, callbacks, and whether losses are kept."""

    i = property(lambda self: self[0])
    step = property(lambda self: self[1])
    callbacks = property(lambda self: self[2])
    score = property(lambda self: self[3])


class Inference:
    """An operator applied to an approximation, with a test function where the operator has one."""

    def __init__(self, op: Any, approx: Approximation, tf: Any = None, **kwargs: Any) -> None:
        self.operator: Operator = op if isinstance(op, Operator) else op(approx, **kwargs)
        self.tf, self.approx = tf, approx
        self.hist = np.zeros(0)
        self.state: State | None = None

    @property
    def objective(self) -> Operator:
        """What is minimized."""
        return self.operator

    def fit(
        self,
        n: int = 10000,
        score: bool | None = None,
        callbacks: Sequence[Callable[..., Any]] | None = None,
        progressbar: bool = True,
        progressbar_theme: Any = None,
        **kwargs: Any,
    ) -> Approximation:
        """Fit, in at most n steps, and return the approximation.

        `callbacks` are called with (approximation, losses so far or None, number of the step); StopIteration ends the
        fit. `obj_optimizer` chooses PyMC's stochastic steps, with `obj_n_mc` draws each; `more_obj_params` are fitted
        along, `more_updates` made along, `more_replacements` put into the model, and `total_grad_norm_constraint`
        bounds the slopes. `linear_response=False` leaves a mean field's covariance as it is.
        """
        n, callbacks = count("n", n, 0), list(callbacks or [])
        if progressbar_theme is not None:
            raise TypeError("progressbar_theme= is not supported: the display has one set of colors")
        score = self._maybe_score(score)
        options = self._checked(kwargs)
        results.prepare()
        response = options.pop("linear_response", None)
        engine = None
        if type(self.operator) is KL and self.operator.beta == 1 and not any(options.get(k) for k in TELLING):
            engine = engine_for(self.approx)
        if engine is None and response is not None:
            raise TypeError("linear_response= belongs to the default fit of a mean field, without obj_optimizer=")
        if not self.approx.problem.dim:
            self.approx.report = Report("recovery of what was integrated out", True, "nothing is left to approximate",
                                        0, 0, 0.0)  # fmt: skip
            return self.approx
        if engine is not None:
            more = {} if response is None else {"linear_response": response}
            self.state = State((0, lambda watch, n: engine(self.approx, n, watch, **more), callbacks, score))
        else:
            self.state = State((0, self._steps(options), callbacks, score))
        self._go_on(n, progressbar)
        return self.approx

    def refine(self, n: int, progressbar: bool = True, progressbar_theme: Any = None) -> None:
        """n steps more, from where the last fit ended."""
        if self.state is None:
            raise TypeError("Need to call `.fit` first")
        if progressbar_theme is not None:
            raise TypeError("progressbar_theme= is not supported: the display has one set of colors")
        self._go_on(count("n", n, 0), progressbar)

    def run_profiling(self, n: int = 1000, score: bool | None = None, **kwargs: Any) -> dict[str, float]:
        """How long steps take, in seconds: the first, with compiling, and each of n more."""
        steps = self._steps(self._checked(kwargs))[0]
        began = time.perf_counter()
        steps(1)
        first = time.perf_counter() - began
        began = time.perf_counter()
        steps(count("n", n, 1))
        return {"first": first, "each": (time.perf_counter() - began) / n}

    def _maybe_score(self, score: bool | None) -> bool:
        if score is None:
            return self.operator.returns_loss
        if score and not self.operator.returns_loss:
            warnings.warn(f"method `fit` got `score == True` but {self.operator} does not return a loss: it is ignored",
                          UserWarning, stacklevel=3)  # fmt: skip
            return False
        return bool(score)

    def _checked(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        options = dict(kwargs)
        for name in ("compile_kwargs", "fn_kwargs"):
            options.pop(name, None)  # XLA compiles every program
        for name in options:
            if name not in OF_STEPS and name != "linear_response":
                raise TypeError(f"fit() has no argument {name!r}; there are {', '.join(OF_STEPS)}, linear_response")
        for name in ("test_optimizer", "tf_n_mc", "more_tf_params"):
            if options.pop(name, None) is not None and name != "test_optimizer":
                warnings.warn(f"`{name}` is not used for {self.operator} and ignored", UserWarning, stacklevel=4)
        return options

    def _steps(self, options: dict[str, Any]) -> tuple[Steps, Averaged | None]:
        options = dict(options)
        draws = count("obj_n_mc", options.get("obj_n_mc") or 1, 1)
        averaged = None
        optimizer = options.get("obj_optimizer")
        if optimizer is None:
            averaged = Averaged(self.approx)
            optimizer = averaged.optimizer
        elif not callable(optimizer):
            raise TypeError(f"obj_optimizer is a function of (gradients, params), as pm.adam, got {optimizer!r}")
        kernel = self.tf if isinstance(self.operator, KSD) else None
        problem = self.approx.problem
        if not problem.random_rows:
            problem.check_start(problem.target(problem.start[None])[0])
        return Steps(
            self.operator, kernel, optimizer, draws, problem.seed, options.get("more_obj_params") or (),
            options.get("more_updates"), options.get("more_replacements"), options.get("total_grad_norm_constraint"),
        ), averaged  # type: ignore[arg-type] # fmt: skip

    def _go_on(self, n: int, progressbar: bool) -> None:
        assert self.state is not None
        i, step, callbacks, score = self.state
        losses: list[np.ndarray] = []
        kept_before, began = self.hist, time.perf_counter()
        converged, why, report, interrupted = None, "", None, False
        try:
            with Bar("Fitting", progressbar) as bar:
                if isinstance(step, tuple):
                    shown = lambda made, _: bar.advance(made, n)
                    run(step[0], n, score, callbacks, i, step[1], shown, losses)
                else:
                    problem = self.approx.problem
                    problem.check_start(problem.target(problem.start[None])[0])
                    report = step(self._watch(i, n, score, callbacks, bar, losses), n)
        except (KeyboardInterrupt, StopIteration) as stopped:
            interrupted = isinstance(stopped, KeyboardInterrupt)
            converged, why = (False, "interrupted") if interrupted else (None, str(stopped))
            log.info("%s", f"Interrupted after {sum(map(len, losses))} steps" if interrupted else stopped)
        finally:
            made = sum(map(len, losses))
            if score and losses:
                kept_before = np.concatenate([kept_before, *losses])
            self.hist = self.approx.hist = kept_before
            self.state = State((i + made, step, callbacks, score))
        if report is None:
            self.approx.law = None
            report = self._report(step, made, began, converged, why)
        self.approx.report = report
        for warning in report.warnings:
            log.warning("%s", warning)

    def _watch(self, first: int, n: int, score: bool, callbacks: Sequence[Any], bar: Bar,
               losses: list[np.ndarray]) -> Callable[[float], None]:  # fmt: skip
        """What a deterministic fit tells of each step."""

        def watch(loss: float) -> None:
            losses.append(np.array([loss]))
            bar.advance(1, n)
            self.approx.law = None
            if callbacks:
                so_far = np.concatenate(losses) if score else None
                for callback in callbacks:
                    callback(self.approx, so_far, first + len(losses))

        return watch

    def _report(self, step: Any, made: int, began: float, converged: bool | None, why: str) -> Report:
        """The report of stochastic steps, or of a fit that was stopped."""
        if not isinstance(step, tuple):
            return report_of(self.approx, "deterministic fit, stopped", converged, why, made, began, 1)
        steps, averaged = step
        how = f"{type(self).__name__}, stochastic steps"
        if averaged is not None and not why:
            converged, why = averaged.settle(self.approx)
            how = f"{type(self).__name__}, Adam" + (" with averaged iterates" if self.approx.has_logq else "")
        more = len(steps.params) > len(self.approx.params)
        return report_of(self.approx, how, converged, why, made, began, steps.looks, more)


class KLqp(Inference):
    """Minimizes the Kullback-Leibler divergence KL(q‖p); `beta` weighs what draws q to the prior."""

    def __init__(self, approx: Approximation, beta: float = 1.0) -> None:
        super().__init__(KL, approx, None, beta=beta)


class ADVI(KLqp):
    """Automatic differentiation variational inference with independent normal coordinates.

    Arguments are those of `MeanField`: model, random_seed, start, start_sigma; rewrite, protect and eliminate as for
    `ppl.sample` (by default the model is taken as written).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(MeanField(*args, **kwargs))


class FullRankADVI(KLqp):
    """Variational inference with a normal law with all covariances; arguments are those of `FullRank`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(FullRank(*args, **kwargs))
        if self.approx.problem.dim > MANY:
            n = self.approx.problem.dim
            log.warning(
                "A full-rank approximation of %d dimensions has %d parameters: each step takes n³ operations. "
                "method='advi' or 'pathfinder' need far fewer.", n, n * (n + 3) // 2,
            )  # fmt: skip


class ImplicitGradient(Inference):
    """An approximation moved by a kernel's estimate of the slope, whether or not it has a density."""

    def __init__(self, approx: Approximation, estimator: Any = KSD, kernel: Any = rbf, **kwargs: Any) -> None:
        if isinstance(kernel, str):
            if kernel not in KERNELS:
                raise ValueError(f"kernel is a function or one of {', '.join(KERNELS)}, got {kernel!r}")
            kernel = KERNELS[kernel]
        super().__init__(op=estimator, approx=approx, tf=kernel, **kwargs)


class SVGD(ImplicitGradient):
    """Stein variational gradient descent: particles that climb, and keep away from each other.

    Their spread is too small in tens of dimensions; `kernel="scaled"` helps where coordinates differ in size.
    """

    def __init__(
        self,
        n_particles: int = 100,
        jitter: float = 1,
        model: Any = None,
        start: Any = None,
        random_seed: Any = None,
        estimator: Any = KSD,
        kernel: Any = rbf,
        *,
        rewrite: bool = False,
        protect: Any = (),
        eliminate: Any = (),
        **kwargs: Any,
    ) -> None:
        empirical = Empirical(
            size=count("n_particles", n_particles, 2), jitter=jitter, start=start, model=model,
            random_seed=random_seed, rewrite=rewrite, protect=protect, eliminate=eliminate,
        )  # fmt: skip
        super().__init__(empirical, estimator, kernel, **kwargs)


class ASVGD(ImplicitGradient):
    """Amortized Stein variational gradient descent: a normal law whose draws are moved as particles are."""

    def __init__(self, approx: Any = None, estimator: Any = KSD, kernel: Any = rbf, **kwargs: Any) -> None:
        warnings.warn(
            "ASVGD is an experimental inference operator. It requires a careful choice of temperature: with 1, the "
            "default, it works for few dimensions and many draws (obj_n_mc), and often underestimates variances.",
            UserWarning,
            stacklevel=2,
        )
        if approx is None:
            own = ("model", "random_seed", "start", "rewrite", "protect", "eliminate")
            approx = FullRank(**{name: kwargs.pop(name) for name in own if name in kwargs})
        super().__init__(approx, estimator, kernel, **kwargs)

    def fit(self, n: int = 10000, score: bool | None = None, callbacks: Any = None, progressbar: bool = True,
            progressbar_theme: Any = None, obj_n_mc: int = 500, **kwargs: Any) -> Approximation:  # fmt: skip
        """Fit, with 500 draws a step."""
        return super().fit(n, score, callbacks, progressbar, progressbar_theme, obj_n_mc=obj_n_mc, **kwargs)


METHODS: dict[str, type[Inference]] = {"advi": ADVI, "fullrank_advi": FullRankADVI, "svgd": SVGD, "asvgd": ASVGD}
WITHOUT_STEPS = {"pathfinder": paths.fit_pathfinder_approximation, "laplace": fit_laplace_approximation}


def fit(
    n: int = 10000,
    method: Any = "advi",
    model: Any = None,
    random_seed: Any = None,
    start: Any = None,
    start_sigma: Any = None,
    inf_kwargs: Any = None,
    *,
    rewrite: bool | None = None,
    protect: Any = (),
    eliminate: Any = (),
    **kwargs: Any,
) -> Approximation:
    """Approximate the posterior, by "advi", "fullrank_advi", "svgd", "asvgd", "pathfinder", "laplace", or an Inference.

    Without `obj_optimizer=` the default methods run until they have converged, in at most `n` steps, on the rewritten
    model; `rewrite=False` takes it as written. With an optimizer, `n` steps of PyMC's algorithm are made, by default
    on the model as written. `.sample()` of the result brings every variable back; `.report` says how good it is.

    >>> import ppl as pm
    >>> with pm.Model():
    ...     x = pm.Normal("x", 0, 1, shape=2)
    ...     y = pm.Normal("y", x.sum(), 0.5, observed=1.0)
    ...     approx = pm.fit(progressbar=False, rewrite=False)
    >>> approx.std.eval().round(4)  # exact: sqrt(5/9)
    array([0.7454, 0.7454])
    """
    inf_kwargs = dict(inf_kwargs or {})
    if isinstance(method, Inference):
        if rewrite is not None or protect or eliminate or start is not None or inf_kwargs:
            raise TypeError("fit: an Inference has its model and its start: give rewrite=, start= and the like to it")
        return method.fit(n, **kwargs)
    if not isinstance(method, str):
        raise TypeError(f"method should be one of {set(METHODS) | set(WITHOUT_STEPS)} or Inference instance")
    name = method.lower()
    if name not in METHODS and name not in WITHOUT_STEPS:
        raise KeyError(f"method should be one of {set(METHODS) | set(WITHOUT_STEPS)} or Inference instance")
    if start_sigma is not None:
        if name != "advi":
            raise NotImplementedError("start_sigma is only available for method advi")
        inf_kwargs["start_sigma"] = start_sigma
    chosen = any(kwargs.get(k) is not None for k in TELLING)
    inf_kwargs |= {
        "model": model, "random_seed": random_seed, "start": start, "protect": protect, "eliminate": eliminate,
        "rewrite": not chosen if rewrite is None else rewrite,
    }  # fmt: skip
    if name in WITHOUT_STEPS:
        return WITHOUT_STEPS[name](**inf_kwargs, **{"maxiter": min(1000, count("n", n, 1)), **kwargs})
    return METHODS[name](**inf_kwargs).fit(n, **kwargs)


def fit_dadvi(
    model: Any = None,
    n_fixed_draws: int | None = None,
    n_draws: int = 1000,
    *,
    random_seed: Any = None,
    initvals: Any = None,
    progressbar: bool = True,
    **kwargs: Any,
) -> Any:
    """Draws of deterministic mean field with linear response, as a result that ArviZ reads.

    The number of fixed draws is chosen by how far they leave the mean uncertain, so `n_fixed_draws` must be None.
    """
    if n_fixed_draws is not None:
        raise TypeError("fit_dadvi: the number of fixed draws follows from the error they leave; leave it out")
    fitted = ADVI(model=model, start=initvals, random_seed=random_seed, rewrite=kwargs.pop("rewrite", True), **kwargs)
    approx = fitted.fit(progressbar=progressbar)
    return approx.as_drawn(approx.positions(count("n_draws", n_draws, 1), approx.problem.seed)[None])

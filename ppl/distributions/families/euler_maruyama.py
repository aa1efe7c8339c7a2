import warnings

import numpy as np

from ppl.distributions.declaration.constants import LOG_2PI
from ppl.distributions.declaration.distribution import Distribution, InPyTensor, Param
from ppl.distributions.declaration.domains import a_distribution, counting, positive, real, real_vector
from ppl.distributions.declaration.inner import as_law, log_density_of, sample_of, support_point_of
from ppl.distributions.declaration.sizes import length, steps_from
from ppl.distributions.draws.draw import is_draw
from ppl.distributions.families.normal import Normal
from ppl.graph import ancestors
from ppl.tensor import as_tensor, broadcast_to, expand_dims, log, moveaxis, sqrt, sum
from ppl.tensor.loops.recurrence import unfold
from ppl.tensor.tensor import INPUT, TensorType, placeholder


class EulerMaruyama(Distribution):
    r"""A path of the stochastic differential equation dx = f dt + g dW in steps of dt: x_t = x_{t-1} + f dt + g√dt z_t.

    .. math:: \log f(x) = \log p_0(x_0) + \sum_t \log N(x_t; x_{t-1} + f_{t-1} dt, g_{t-1} \sqrt{dt})

    with (f, g) = sde_fn(x, *sde_pars).
    """

    support = real_vector
    order = ("dt", "sde_fn", "sde_pars", "init_dist", "steps")
    in_pytensor = InPyTensor(
        None,
        parameters=lambda init_dist, steps, dt, *parameters: (init_dist, steps, *parameters),
        inputs="* rng",
        symbolic=True,
    )

    @classmethod
    def make(cls, dt, sde_fn, sde_pars, *, init_dist=None, steps=None, shape=None, **options):
        parameters = [as_tensor(p) for p in sde_pars]
        checked(sde_fn, parameters)
        if init_dist is None:
            warnings.warn(
                "EulerMaruyama: no init_dist is given; it becomes Normal.dist(0, 100).",
                stacklevel=3,
            )
            init_dist = Normal.dist(0.0, 100.0)
        law = as_law(init_dist, "EulerMaruyama: init_dist")
        if law.event_ndim:
            raise ValueError(f"EulerMaruyama: init_dist must be of scalars, one value has {law.event_ndim} axes")
        sizes = (shape,) if isinstance(shape, int | np.integer) else shape
        steps = steps_from("EulerMaruyama", steps, sizes, offset=1)
        given = {f"par{i}": p for i, p in enumerate(parameters)}
        family = with_equation(sde_fn, len(parameters))
        return Distribution.make.__func__(family, init_dist=law, steps=steps, dt=dt, **given, shape=shape, **options)

    def event_shape(init_dist, steps, dt, *parameters):
        return (length(steps) + 1,)

    def support_point(init_dist, steps, dt, *parameters):
        point = expand_dims(as_tensor(support_point_of(init_dist)), -1)
        return broadcast_to(point, (*point.shape[:-1], length(steps) + 1))


def with_equation(sde_fn, count):
    """The family for one equation with `count` parameters."""

    def logp(x, init_dist, steps, dt, *parameters):
        before, dt = x[..., :-1], expand_dims(dt, -1)
        f, g = sde_fn(before, *[expand_dims(p, -1) for p in parameters])
        scale = sqrt(dt) * g + 0.0 * before
        z = (x[..., 1:] - before - dt * f) / scale
        return log_density_of(init_dist, x[..., 0]) - sum(0.5 * z**2 + log(scale) + 0.5 * LOG_2PI, axis=-1)

    def sample(key, shape, init_dist, steps, dt, *parameters):
        batch = tuple(shape)[:-1]
        start = sample_of(key.fold_in(0), batch, init_dist)
        noise = key.fold_in(1).normal((shape[-1] - 1, *batch))

        def step(x, z, dt, *parameters):
            f, g = sde_fn(x, *parameters)
            return x + dt * f + sqrt(dt) * g * z

        return moveaxis(unfold(step, start, noise, [dt, *parameters]), 0, -1)

    declared = {"init_dist": Param(a_distribution), "steps": Param(counting), "dt": Param(positive)}
    declared |= {f"par{i}": Param(real) for i in range(count)}
    body = {**declared, "logp": logp, "sample": sample, "order": tuple(declared), "sde_fn": staticmethod(sde_fn)}
    body |= {"make": classmethod(Distribution.make.__func__), "__doc__": EulerMaruyama.__doc__}
    return type(EulerMaruyama)("EulerMaruyama", (EulerMaruyama,), body, abstract=True)


def checked(sde_fn, parameters):
    """Refuse an equation that is no pair, or that hides a variable which ought to be among its parameters."""
    x, *inner = [placeholder(TensorType("float64", ())) for _ in range(len(parameters) + 1)]
    result = sde_fn(x, *inner)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise ValueError(f"EulerMaruyama: sde_fn(x, *sde_pars) must return the pair (drift, diffusion), got {result!r}")
    for node in ancestors([as_tensor(part) for part in result]):
        if is_draw(node) or (node.op is INPUT and not any(node is p for p in (x, *inner))):
            raise ValueError(f"EulerMaruyama: sde_fn uses {node!r}, which is not among sde_pars. Pass it there.")

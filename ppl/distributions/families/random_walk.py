import warnings
from dataclasses import replace

from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param
from ppl.distributions.declaration.domains import a_distribution, counting, real, reals
from ppl.distributions.declaration.inner import as_law, log_density_of, sample_of, support_point_of, unsized
from ppl.distributions.declaration.normal_errors import NormalSteps, NotNormal
from ppl.distributions.declaration.sizes import length, steps_from
from ppl.distributions.families.mv_normal import MvNormal
from ppl.distributions.families.mv_student_t import MvStudentT
from ppl.distributions.families.normal import Normal
from ppl.tensor import as_tensor, broadcast_to, concatenate, cumsum, diff, expand_dims, eye, moveaxis, sum, zeros


class RandomWalk(Distribution):
    r"""A first value x₀ by one law, and steps from it by another: x_t = x_{t-1} + ε_t.

    .. math:: \log f(x) = \log p_0(x_0) + \sum_{t=1}^T \log p(x_t - x_{t-1})
    """

    init_dist, innovation_dist, steps = param(a_distribution), param(a_distribution), param(counting)
    in_pytensor = InPyTensor(None, shown="RandomWalk", inputs="*", symbolic=True)

    def accept(init_dist, innovation_dist, steps=None, shape=None):
        return walk("RandomWalk", init_dist, innovation_dist, steps, shape)

    def support(init_dist, innovation_dist, steps):
        whole = reals(innovation_dist.event_ndim + 1)
        return whole if unbounded(innovation_dist) else replace(whole, entry=None)  # steps that only rise, say

    def event_shape(init_dist, innovation_dist, steps):
        event = innovation_dist.event_ndim
        return (length(steps) + 1, *innovation_dist.shape[innovation_dist.ndim - event :])

    def logp(x, init_dist, innovation_dist, steps):
        path = moveaxis(x, -1 - innovation_dist.event_ndim, 0)
        jumps = log_density_of(innovation_dist, diff(path, axis=0))
        return log_density_of(init_dist, path[0]) + sum(jumps, axis=0)

    def sample(key, shape, init_dist, innovation_dist, steps):
        time = len(shape) - 1 - innovation_dist.event_ndim
        others = (*shape[:time], *shape[time + 1 :])
        first = sample_of(key.fold_in(0), (1, *others), init_dist)
        jumps = sample_of(key.fold_in(1), (shape[time] - 1, *others), innovation_dist)
        return moveaxis(cumsum(concatenate([first, jumps], axis=0), axis=0), 0, time)

    def support_point(init_dist, innovation_dist, steps):
        event = innovation_dist.event_ndim
        first, jump = as_tensor(support_point_of(init_dist)), as_tensor(support_point_of(innovation_dist))
        blank = 0.0 * (first + jump)
        first, jump = expand_dims(first + blank, -1 - event), expand_dims(jump + blank, -1 - event)
        batch = first.ndim - event - 1
        jumps = broadcast_to(jump, (*jump.shape[:batch], length(steps), *jump.shape[batch + 1 :]))
        return cumsum(concatenate([first, jumps], axis=batch), axis=batch)

    def residuals(x, init_dist, innovation_dist, steps):
        path = moveaxis(x, -1 - innovation_dist.event_ndim, 0)
        for law, value in ((init_dist, path[0]), (innovation_dist, path[1:] - path[:-1])):
            if law.family not in (Normal, MvNormal):
                raise NotNormal(f"its values or steps are {law.family.__name__}, not normal")
            yield from law.family.residuals(value, *law.parameters)


class GaussianRandomWalk(RandomWalk):
    """A random walk with normal steps of mean mu and standard deviation sigma."""

    def normal_steps(init_dist, innovation_dist, steps):
        if init_dist.family is not Normal or init_dist.ndim or innovation_dist.ndim > 1:
            raise NotNormal("its first value is not one normal number")
        mean = GaussianRandomWalk.support_point(init_dist, innovation_dist, steps)
        return NormalSteps(mean, init_dist.parameters[1], 1.0, innovation_dist.parameters[1])

    def accept(mu=0.0, sigma=1.0, *, init_dist=None, steps=None, shape=None):
        init_dist = first_value("GaussianRandomWalk", init_dist, lambda: Normal.dist(0.0, 100.0), "Normal.dist(0, 100)")
        return walk("GaussianRandomWalk", init_dist, Normal.dist(mu, sigma), steps, shape)


class MvGaussianRandomWalk(RandomWalk):
    """A random walk of vectors with normal steps of mean mu."""

    def accept(mu, *, cov=None, tau=None, chol=None, lower=True, init_dist=None, steps=None, shape=None):
        step = MvNormal.dist(mu, cov, tau=tau, chol=chol, lower=lower)
        init_dist = first_value("MvGaussianRandomWalk", init_dist, lambda: wide(step), "MvNormal.dist(0, 100 I)")
        return walk("MvGaussianRandomWalk", init_dist, step, steps, shape)


class MvStudentTRandomWalk(RandomWalk):
    """A random walk of vectors with steps by Student's t of location mu."""

    residuals = None  # its steps are never normal

    def accept(
        *, nu, mu, scale=None, tau=None, chol=None, lower=True, init_dist=None, steps=None, cov=None, shape=None
    ):
        step = MvStudentT.dist(nu, mu=mu, scale=scale, tau=tau, chol=chol, lower=lower, cov=cov)
        init_dist = first_value("MvStudentTRandomWalk", init_dist, lambda: wide(step), "MvNormal.dist(0, 100 I)")
        return walk("MvStudentTRandomWalk", init_dist, step, steps, shape)


def walk(who, init_dist, innovation_dist, steps, shape):
    """The parameters of a random walk."""
    first, step = as_law(init_dist, f"{who}: init_dist"), as_law(innovation_dist, f"{who}: innovation_dist")
    if first.event_ndim != step.event_ndim:
        axes = f"{first.event_ndim} and {step.event_ndim}"
        raise TypeError(
            f"{who}: one value of init_dist and of innovation_dist must have as many axes, they have {axes}"
        )
    steps = steps_from(who, steps, shape, offset=1, axis=-1 - step.event_ndim)
    if shape is not None:
        first, step = unsized(first), unsized(step)
    return {"init_dist": first, "innovation_dist": step, "steps": steps}


def unbounded(law):
    """Whether each entry of a value may be any number."""
    domain = law.family.support_for(law.parameters)
    return (domain.entry if domain.ndim else domain) is real


def first_value(who, init_dist, default, words):
    """The law of the first value, a wide one with a warning where none is given."""
    if init_dist is not None:
        return init_dist
    warnings.warn(f"{who}: no init_dist is given; it becomes {words}.", stacklevel=6)
    return default()


def wide(step):
    """A wide normal law for vectors as long as those of another."""
    n = step.shape[-1]
    return MvNormal.dist(zeros((n,)), chol=10.0 * eye(n))

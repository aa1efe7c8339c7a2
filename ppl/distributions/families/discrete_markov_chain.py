import numpy as np

from ppl.distributions.declaration.distribution import Distribution, param
from ppl.distributions.declaration.domains import Domain, integers_between, simplex, sum_to_one
from ppl.distributions.declaration.sizes import length, steps_from
from ppl.distributions.draws.draw import is_draw
from ppl.distributions.families.categorical import Categorical, entry
from ppl.distributions.formulas.probability import log_of
from ppl.tensor import (
    all,
    as_tensor,
    broadcast_to,
    cast,
    concatenate,
    cumsum,
    expand_dims,
    moveaxis,
    ones,
    scan,
    softmax,
    sum,
)  # fmt: skip
from ppl.tensor.tensor import is_constant, value_of

transitions = Domain(
    "matrices of probabilities, each row of which sums to 1",
    lambda x: np.all(x >= 0, axis=(-3, -2, -1)) & np.all(sum_to_one(x), axis=(-2, -1)),
    ndim=3,
    remedy="divide each row by its sum, or give logit_P",
    examples=([[[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]] * 3,),
)


class DiscreteMarkovChain(Distribution):
    r"""A path over the states 0, ..., K - 1: the first by the probabilities p, each later one by a row of a matrix.

    .. math:: f(x) = p_{x_0} \prod_{t=1}^T P^{(t)}_{x_{t-1}, x_t}

    P is one matrix, or one for each step (steps, K, K). `init_dist` is a Categorical of the first state.

    >>> import ppl as pm
    >>> path = pm.DiscreteMarkovChain.dist(P=np.eye(2), init_dist=pm.Categorical.dist([0.5, 0.5]), steps=3)
    >>> round(float(pm.logp(path, [1, 1, 1, 1]).eval()), 3)
    -0.693
    """

    start, P = param(simplex), param(transitions)

    def accept(P=None, logit_P=None, init_dist=None, steps=None, shape=None):
        if (P is None) == (logit_P is None):
            raise ValueError("DiscreteMarkovChain: give P or logit_P, one of them")
        P = as_tensor(P) if logit_P is None else softmax(as_tensor(logit_P), axis=-1)
        if P.ndim < 2 or P.type.shape[-1] != P.type.shape[-2]:
            raise ValueError(f"DiscreteMarkovChain: P is a square matrix, or one for each step; got {P.type.shape}")
        if P.ndim == 2:
            steps = length(steps_from("DiscreteMarkovChain", steps, shape, offset=1))
            P = each_step(P, steps)
        elif steps is not None and length(steps) != P.type.shape[-3]:
            raise ValueError(f"DiscreteMarkovChain: {length(steps)} steps, but P has {P.type.shape[-3]} matrices")
        states = P.shape[-1]
        return {"start": ones((states,)) / states if init_dist is None else _first(init_dist), "P": P}

    def support(start, P):
        states = start.shape[-1]
        return Domain(
            "a path over states",
            lambda x: all((x >= 0) & (x < states), axis=-1),
            ndim=1,
            discrete=True,
            entry=integers_between(0, states - 1),
        )

    def event_shape(start, P):
        return (None if P.type.shape[-3] is None else P.type.shape[-3] + 1,)

    def logp(x, start, P):
        x, states = cast(x, "int64"), P.shape[-1]
        moves = P.reshape((*P.shape[:-2], states * states))
        return entry(log_of(start), x[..., 0]) + sum(entry(log_of(moves), states * x[..., :-1] + x[..., 1:]), axis=-1)

    def sample(key, shape, start, P):
        batch = tuple(shape)[:-1]
        first = sum(expand_dims(key.uniform(batch), -1) >= cumsum(start, axis=-1)[..., :-1], axis=-1)
        # where each step would lead from each state; the path picks one state after the other
        chance = expand_dims(key.uniform((*batch, P.shape[-3])), (-1, -2))
        leads = sum(chance >= cumsum(P, axis=-1)[..., :-1], axis=-1)
        first = cast(broadcast_to(first, batch), "int64")
        move = lambda state, to: (entry(to, state),) * 2
        _, path = scan(move, init=first, sequences=cast(moveaxis(leads, -2, 0), "int64"))
        return moveaxis(concatenate([expand_dims(first, 0), path]), 0, -1)

    def support_point(start, P):
        return Categorical.support_point(expand_dims(start, -2) + 0.0 * sum(concatenate([P[..., :1, :, :], P], -3), -2))

    def categories(P, *others):
        return P.type.shape[-1]


def each_step(P, steps):
    """One matrix as one for each step; of a constant it stays one, which is checked."""
    if is_constant(P):
        return as_tensor(np.broadcast_to(value_of(P), (steps, *P.type.shape)))
    return broadcast_to(P, (steps, *P.shape))


def _first(init_dist):
    """The probabilities of the first state."""
    if not is_draw(init_dist) or init_dist.family is not Categorical:
        raise TypeError(f"DiscreteMarkovChain: init_dist is a Categorical, as Categorical.dist(p), got {init_dist!r}")
    return init_dist.parameters[0]

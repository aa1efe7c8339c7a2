from ppl.distributions.declaration.distribution import Distribution, InPyTensor, param, requires
from ppl.distributions.declaration.domains import integers_between, natural
from ppl.distributions.formulas.summation import falling_terms, log_tails
from ppl.tensor import cast, deviance, floor, log, maximum, minimum, stirling
from ppl.tensor.sampling.hypergeometric import hypergeometric


class HyperGeometric(Distribution):
    r"""The number of good ones among n that are taken, without putting back, from N of which k are good.

    .. math:: f(x) = \binom{k}{x} \binom{N - k}{n - x} \Big/ \binom{N}{n}
    """

    N, k, n = param(natural), param(natural), param(natural)
    good = requires(lambda N, k: k <= N, "k must not be above N", "give the number of good ones among N as k")
    taken = requires(lambda N, n: n <= N, "n must not be above N", "take no more than there are")
    in_pytensor = InPyTensor(parameters=lambda N, k, n: (k, N - k, n), given=lambda good, bad, n: (good + bad, good, n))

    def support(N, k, n):
        return integers_between(maximum(0, n + k - N), minimum(k, n))

    def logp(x, N, k, n):
        def part(x, row, column):
            return -stirling(x) - deviance(x, row * (column / N), log(row) + log(column) - log(N))

        margins = stirling(k) + stirling(N - k) + stirling(n) + stirling(N - n) - stirling(N)
        taken = part(x, k, n) + part(n - x, N - k, n)
        return margins + taken + part(k - x, k, N - n) + part(N - k - n + x, N - k, N - n)

    def logcdf(x, N, k, n):
        return _log_tails(x, N, k, n)[0]

    def logccdf(x, N, k, n):
        return _log_tails(x, N, k, n)[1]

    def sample(key, shape, N, k, n):
        return hypergeometric(key.next(), k, N - k, n, shape=shape)

    def mean(N, k, n):
        return n * (k / N)

    def variance(N, k, n):
        return n * (k / N) * ((N - k) / N) * ((N - n) / maximum(N - 1, 1))

    def mode(N, k, n):
        return cast(floor((n + 1) * ((k + 1) / (N + 2))), "int64")

    def support_point(N, k, n):
        return cast(floor((n + 1) * ((k + 1) / (N + 2))), "int64")


def _log_tails(x, N, k, n):
    least, most = maximum(0, n + k - N), minimum(k, n)
    mean, rate = HyperGeometric.mean(N, k, n), k / N
    terms = falling_terms(HyperGeometric, x, mean, n * rate * (1 - rate), N, k, n)
    return log_tails(HyperGeometric, x, mean, minimum(terms, x - least + 1), minimum(terms, most - x), N, k, n)

from ppl.tensor import deviance, log, log1p, stirling


def log_urn(x, y, a, b):
    r"""The chance of x red and y blue balls from Pólya's urn of a red and b blue, where each drawn ball brings another.

    .. math:: \log \binom{x + y}{x} \frac{B(x + a, y + b)}{B(a, b)}

    Written with the share of red at the end, s = (x + a)/(x + y + a + b), no large terms cancel.
    """
    n, start = x + y, a + b
    red, blue, total = x + a, y + b, n + start
    ways = stirling(n) - stirling(x) - stirling(y) - log1p(x / a) - log1p(y / b) + log1p(n / start)
    ways = ways + (stirling(red) - stirling(a)) + (stirling(blue) - stirling(b)) - (stirling(total) - stirling(start))
    log_red, log_blue = log(red) - log(total), log(blue) - log(total)
    return (
        ways
        - deviance(x, n * (red / total), log(n) + log_red)
        - deviance(y, n * (blue / total), log(n) + log_blue)
        - deviance(a, start * (red / total), log(start) + log_red)
        - deviance(b, start * (blue / total), log(start) + log_blue)
    )

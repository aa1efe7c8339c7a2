"""The words in which plans are told, each with its meaning and where to read about it.

`ppl.explain` names what it did by the rules below. `docs/glossary.md` is written from this table, and a test holds
every technical word that a plan can print against it.
"""

from typing import NamedTuple


class Word(NamedTuple):
    """A term of the field: what it means here, in one sentence, and a reference."""

    term: str
    meaning: str
    reference: str


# The rules that a step of a plan can name.
NO_DESCENDANTS = "no observed descendants"
THINNING = "binomial thinning"
COMPOUND = "compound distribution"
PROCESS = "Gaussian process marginal likelihood"
MARKOV = "state-space model"
CONJUGATE = "conjugate"
GAUSSIAN = "Gaussian block"
ENUMERATION = "enumeration"
CHANGE_OF_VARIABLES = "change of variables"
STATISTICS = "sufficient statistics"
REPARAMETERIZATION = "reparameterization"
PLATE = "plate"

BDA = "Gelman et al., Bayesian Data Analysis, 3rd edition"
PRML = "Bishop, Pattern Recognition and Machine Learning"
KOLLER = "Koller and Friedman, Probabilistic Graphical Models"
GPML = "Rasmussen and Williams, Gaussian Processes for Machine Learning"

RULES = (
    Word(
        NO_DESCENDANTS,
        "Nothing observed depends on the variable, so the data say nothing about it beyond its parents: it is drawn "
        "forward from its prior, given each posterior draw of its parents.",
        f"{KOLLER}, section 9.3 (barren nodes)",
    ),
    Word(
        THINNING,
        "A latent count is seen only in part, each unit with a known probability: a Poisson or negative binomial count "
        "that is thinned by a binomial law is Poisson or negative binomial again.",
        "Kingman, Poisson Processes, section 5.1",
    ),
    Word(
        COMPOUND,
        "A latent variable that enters a single observation is integrated out, and the observation follows the "
        "compound (marginal) distribution, such as the negative binomial for a Poisson rate with a gamma prior.",
        "Johnson, Kemp and Kotz, Univariate Discrete Distributions, chapter 8",
    ),
    Word(
        PROCESS,
        "A Gaussian vector that is seen through normal noise is integrated out: its covariance is added to that of the "
        "noise.",
        f"{GPML}, section 2.3",
    ),
    Word(
        MARKOV,
        "The covariance of a Gaussian process of one input (Matérn and exponential kernels, their sums and products) "
        "is that of a Markov process, so that its density and its draws go from one input to the next with a few "
        "numbers as state: the Kalman filter and smoother.",
        "Hartikainen and Särkkä (2010), Kalman filtering and smoothing solutions to temporal Gaussian process "
        "regression models",
    ),
    Word(
        CONJUGATE,
        "The prior is conjugate to the likelihood: the variable is integrated out in closed form, and drawn from its "
        "conditional posterior afterwards.",
        f"{BDA}, section 2.4",
    ),
    Word(
        GAUSSIAN,
        "Variables that are jointly normal given the scales, with normal observations that are linear in them, are "
        "integrated out together; in a time series the precision matrix is block-tridiagonal: the Kalman filter.",
        f"{PRML}, sections 2.3.3 and 13.3",
    ),
    Word(
        ENUMERATION,
        "A discrete latent variable is summed out over all its values, in an order that keeps the tables small "
        "(variable elimination; the forward algorithm for a hidden Markov chain).",
        f"{KOLLER}, chapter 9",
    ),
    Word(
        CHANGE_OF_VARIABLES,
        "The observed values are transformed by a one-to-one function under which their distribution becomes one that "
        "other rules know, such as the logarithm of log-normal data; the Jacobian is accounted for.",
        "Casella and Berger, Statistical Inference, section 2.1",
    ),
    Word(
        STATISTICS,
        "Observed rows are replaced by sufficient statistics, or by distinct rows with counts, so that an evaluation "
        "of the log-density does not go over the rows.",
        "Casella and Berger, Statistical Inference, section 6.2",
    ),
    Word(
        REPARAMETERIZATION,
        "The sampler moves the variable in other coordinates: non-centered, partially centered, whitened, or on "
        "another scale. The posterior is the same; its geometry is easier.",
        "Papaspiliopoulos et al., A general framework for the parametrization of hierarchical models (2007)",
    ),
    Word(
        PLATE,
        "Variables that a loop wrote one by one are the entries of one vector, as if the model had been written with a "
        "plate.",
        f"{PRML}, section 8.1",
    ),
)

OTHERS = (
    Word(
        "marginalized",
        "Integrated out of the joint density before sampling, and drawn from its conditional afterwards.",
        f"{BDA}, section 3.1",
    ),
    Word(
        "Markov process with a state",
        "A process in time whose future depends on its past through a few numbers alone, its state at present.",
        f"{GPML}, appendix B",
    ),
    Word(
        "periodic, Gaussian and rational quadratic covariance",
        "Covariance functions of smooth processes, which no finite state carries on.",
        f"{GPML}, section 4.2",
    ),
    Word("NUTS", "The No-U-Turn sampler, a form of Hamiltonian Monte Carlo.", "Hoffman and Gelman (2014)"),
    Word("one-to-one function (bijection)", "A function that has an inverse.", "Casella and Berger, section 2.1"),
    Word("link function", "How the mean of an observation depends on the linear predictor.", f"{BDA}, chapter 16"),
    Word(
        "block-tridiagonal chain",
        "Groups of variables of which each depends on its neighbors alone, as in a time series.",
        f"{PRML}, section 13.3",
    ),
    Word(
        "non-centered parameterization",
        "A variable with location μ and scale σ is written μ + σz, and the sampler moves z.",
        "Betancourt and Girolami, Hamiltonian Monte Carlo for Hierarchical Models (2013)",
    ),
    Word(
        "partially centered parameterization",
        "Between centered (share 1: the sampler moves the variable itself) and non-centered (share 0: it moves z); the "
        "share is chosen by the information in the data.",
        "Papaspiliopoulos, Roberts and Sköld (2003), Non-centered parameterisations for hierarchical models",
    ),
    Word("normal score", "The standard normal number of the same rank, z = Φ⁻¹(F(x)).", "van der Waerden (1952)"),
    Word(
        "Fisher information",
        "How sharply the observations determine a parameter: the expected curvature of the log-likelihood.",
        "Casella and Berger, Statistical Inference, section 7.3",
    ),
    Word(
        "discrete latent",
        "A variable with finitely many values that is not observed, such as the component of a mixture.",
        f"{PRML}, chapter 9",
    ),
    Word(
        "distinct rows",
        "Observations that are equal in all that the model uses of them are counted once, with their number.",
        "the multinomial form of a likelihood",
    ),
    Word(
        "posterior factorization",
        "The posterior is a product of factors that share no variable, so that each part is sampled by itself.",
        f"{KOLLER}, section 3.3",
    ),
    Word(
        "quadrature",
        "Numerical integration: the distribution function is computed, and draws are its quantiles.",
        "Davis and Rabinowitz, Methods of Numerical Integration",
    ),
    Word(
        "rejection",
        "Rejection sampling: proposals of a known density are kept in proportion to the posterior.",
        "Robert and Casella, Monte Carlo Statistical Methods, section 2.3",
    ),
    Word("log-density", "The logarithm of the joint probability density, up to a constant.", f"{BDA}, section 1.3"),
    Word(
        "QR decomposition",
        "The design matrix is written X = QR; the sampler moves Rβ, whose entries are nearly uncorrelated.",
        "Stan User's Guide, chapter on regression models",
    ),
    Word("flat prior", "A prior with constant density, which does not integrate to one.", f"{BDA}, section 2.8"),
    Word(
        "affine",
        "Linear with a constant: a + Bx.",
        "any book on linear algebra",
    ),
    Word(
        "autoregression",
        "A series in which each value is a linear combination of those before it, with noise.",
        f"{PRML}, section 13.3",
    ),
    Word(
        "kernel",
        "A covariance function: the covariance of the values of a Gaussian process at two points.",
        f"{GPML}, chapter 4",
    ),
    Word(
        "rotated process",
        "A Gaussian process written as Lv, with a factor L of its covariance and standard normal v; the process itself "
        "is integrated out, and v comes back with it.",
        f"{GPML}, appendix A.2",
    ),
    Word("precision matrix", "The inverse of a covariance matrix.", f"{PRML}, section 2.3"),
    Word(
        "Kronecker product",
        "All products of an entry of one matrix with the other matrix.",
        f"{GPML}, chapter 5",
    ),
    Word(
        "design matrix",
        "The matrix whose rows are the predictors of an observation, times the coefficients.",
        f"{BDA}, chapter 14",
    ),
    Word("eigendecomposition", "A symmetric matrix as QΛQᵀ, with eigenvectors Q.", "any book on linear algebra"),
    Word(
        "whitened",
        "Moved in coordinates in which the numbers are about independent and of unit scale.",
        f"{PRML}, section 12.1",
    ),
    Word("decorrelated", "Turned by a rotation so that the numbers are independent.", f"{PRML}, section 12.1"),
    Word("potential", "A term that the user adds to the log-density, `pm.Potential`.", "PyMC's documentation"),
    Word("support", "The set of values that a distribution can take.", "Casella and Berger, section 1.6"),
    Word("logit", "log(p / (1 - p)).", f"{BDA}, section 16.1"),
    Word("switch", "A choice between expressions by a condition, `pm.math.switch`.", "PyMC's documentation"),
    Word("node", "An operation in the graph of the model.", "docs/rewrites.md"),
    Word("dense column", "A variable on which most observations depend, such as an intercept.", f"{PRML}, section 2.3"),
    Word("spectrum", "The eigenvalues of a matrix.", "any book on linear algebra"),
)

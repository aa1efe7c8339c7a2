"""Random small models, written as the program a user would write, for the fuzzer.

A grammar of priors, expressions and likelihoods over four kinds of numbers: real, positive, between 0 and 1, and labels
of finitely many values. Everything rewriting looks for comes up by chance (conjugate pairs, Gaussian blocks with groups
and covariates, labels that choose branches, chains, change points, sums of draws), and everything that must stop it too
(products, nonlinear children, potentials, a variable used twice).
"""

from __future__ import annotations

import numpy as np

import ppl as pm

ROWS, GROUPS = 5, 3  # rows of data, and groups they belong to
GIVEN = {
    "pm": pm,
    "np": np,
    "group": np.array([0, 2, 2, 0, 2]),  # group 1 is empty
    "other": np.array([1, 0, 1, 1, 0]),
    "time": np.arange(ROWS),
    "x": np.array([0.5, -1.2, 0.3, 2.0, -0.4]),
    "X": np.array([[1.0, 0.2], [1.0, -1.0], [1.0, 0.5], [1.0, 1.5], [1.0, -0.3]]),
    "w": np.array([0.5, 1.0, 2.0, 0.7, 1.3]),
}


def given(rows: int) -> dict[str, object]:
    """What a program may use; of more than five rows each is like one of the first five, so that they are counted."""
    columns = {name: np.resize(x, (rows, *x.shape[1:])) for name, x in GIVEN.items() if isinstance(x, np.ndarray)}
    return {**GIVEN, **columns, "time": np.arange(rows)}


class Models:
    """Writes models from one generator, of some number of rows of data."""

    def __init__(self, rng: np.random.Generator, rows: int = ROWS) -> None:
        self.rng, self.rows = rng, rows
        self.lines: list[str] = []
        self.names: list[str] = []
        self.used: set[str] = set()
        # (text, entries) by kind; labels also with the number of values
        self.real: list[tuple[str, int]] = []
        self.positive: list[tuple[str, int]] = []
        self.unit: list[tuple[str, int]] = []
        self.labels: list[tuple[str, int, int]] = []

    # --- chance
    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def known(self, texts: list[str]) -> str:
        """One of some variables, rather one that nothing depends on yet."""
        idle = [t for t in texts if t.split("[")[0] not in self.used]
        text = self.pick(idle if idle and self.chance(0.8) else texts)
        self.used.add(text.split("[")[0])
        return text

    def number(self, low: float, high: float) -> str:
        return f"{self.rng.uniform(low, high):.2f}"

    def numbers(self, n: int, low: float, high: float) -> str:
        if n == 1:
            return self.number(low, high)
        return f"np.array([{', '.join(self.number(low, high) for _ in range(n))}])"

    def name(self, stem: str) -> str:
        self.names.append(f"{stem}{len(self.names)}")
        return self.names[-1]

    # --- expressions with n entries (or one, which broadcasts)
    def _fitting(self, pool, n: int) -> list[str]:
        """Members of a pool brought to n entries: as they are, broadcast, gathered or selected."""
        found = []
        for text, m, *_ in pool:
            if m in (1, n):
                found.append(text)
            if m == GROUPS and n == self.rows:
                found += [f"{text}[group]", f"{text}[other]"]
            if m > 1 and n == 1:
                found.append(f"{text}[{int(self.rng.integers(m))}]")
            if m == self.rows and n == GROUPS:
                found.append(f"{text}[:3]")
        return found

    def real_of(self, n: int, depth: int = 2) -> str:
        known = self._fitting(self.real, n)
        if depth == 0 or (not known and not self.labels and self.chance(0.7)):
            return self.known(known) if known and self.chance(0.9) else self.number(-1, 1)
        below = lambda: self.real_of(n, depth - 1)
        forms = [
            lambda: below(),
            lambda: f"({below()} + {below()})",
            lambda: f"({self.number(-1.5, 1.5)} * {below()} - {below()})",
            lambda: f"({below()} + {self.numbers(n, -1, 1)})",
            lambda: f"({below()} / 2)",
            lambda: f"pm.math.tanh({below()})",
            lambda: f"({below()} * {self.pick([below(), self.positive_of(n, 0)])})",
        ]
        if n == self.rows:
            pairs = [text for text, m in self.real if m == 2]
            forms += [lambda: f"({below()} + x * {below()})"] * 2
            forms += [lambda: f"({below()} + pm.math.dot(X, {self.known(pairs)}))"] * (2 if pairs else 0)
        several = [text for text, m in self.real if m > 1]
        if n == 1 and several:
            forms += [lambda: f"pm.math.sum({self.known(several)})", lambda: f"{self.known(several)}.mean()"]
        choices = self._choices(n, below, lambda k: self.numbers(k, -2, 2), self.real)
        return self.pick(forms + choices * 2)()

    def positive_of(self, n: int, depth: int = 2) -> str:
        known = self._fitting(self.positive, n)
        if depth == 0 or self.chance(0.3):
            return self.known(known) if known and self.chance(0.9) else self.number(0.4, 2)
        below = lambda: self.positive_of(n, depth - 1)
        forms = [
            lambda: below(),
            lambda: f"({self.number(0.3, 2)} * {below()})",
            lambda: f"({self.numbers(n, 0.3, 2)} * {below()})",
            lambda: f"({below()} * {below()})",
            lambda: f"({below()} + {self.number(0.1, 1)})",
            lambda: f"pm.math.sqrt({self.positive_of(n, 0)})",
            lambda: f"({self.positive_of(n, 0)} ** -0.5)",
            lambda: f"pm.math.exp(0.3 * {self.real_of(n, depth - 1)})",
        ]
        if n == self.rows:
            forms.append(lambda: f"(w * {below()})")
        choices = self._choices(n, below, lambda k: self.numbers(k, 0.4, 3), self.positive)
        return self.pick(forms + choices)()

    def unit_of(self, n: int, depth: int = 1) -> str:
        known = self._fitting(self.unit, n)
        if known and self.chance(0.6):
            return self.known(known)
        if depth == 0 or self.chance(0.4):
            return self.number(0.1, 0.9)
        below = lambda: self.unit_of(n, depth - 1)
        forms = [lambda: f"pm.math.sigmoid({self.real_of(n, 1)})", lambda: f"(0.9 * {below()})"]
        choices = self._choices(n, below, lambda k: self.numbers(k, 0.1, 0.9), self.unit)
        return self.pick(forms + choices * 2)()

    def _choices(self, n: int, below, constants, pool) -> list:
        """Ways in which a label chooses between values."""
        found = []
        for text, m, count in self.labels:
            here = self._fitting([(text, m)], n)
            if not here:
                continue
            label = self.known(here)
            found.append(lambda label=label: f"pm.math.switch(pm.math.eq({label}, 1), {below()}, {below()})")
            found.append(lambda label=label, count=count: f"pm.math.constant({constants(max(count, 2))})[{label}]")
            tables = [t for t, k, *_ in pool if k == count]
            if tables:
                found.append(lambda label=label, tables=tables: f"{self.known(tables)}[{label}]")
            if n == self.rows and count >= self.rows:
                found.append(lambda label=label: f"pm.math.switch(time < {label}, {below()}, {below()})")
        return found

    # --- statements
    def prior(self) -> None:
        self.pick(
            [self._real_prior] * 4 + [self._positive_prior] * 3 + [self._unit_prior] + [self._label] * 3 + [self._chain]
        )()

    def _enter(self, stem: str, text: str, n: int) -> str:
        name = self.name(stem)
        shape = f", shape={n}" if n > 1 else ""
        family, arguments = text.split("(", 1)
        self.lines.append(f'{name} = pm.{family}("{name}", {arguments[:-1]}{shape})')
        return name

    def _real_prior(self) -> None:
        n = self.pick([1, 1, 1, 2, GROUPS, GROUPS])
        forms = [lambda: f"Normal({self.real_of(n, 1)}, {self.positive_of(n, 1)})"] * 5
        forms.append(lambda: f"StudentT(5, {self.real_of(n, 0)}, {self.positive_of(n, 0)})")
        name = self._enter("a", self.pick(forms)(), n)
        self.real.append((name, n))

    def _positive_prior(self) -> None:
        n = self.pick([1, 1, 1, GROUPS])
        forms = [
            lambda: f"HalfNormal({self.positive_of(n, 0)})",
            lambda: f"Gamma({self.number(1, 4)}, {self.positive_of(n, 0)})",
            lambda: f"Gamma({self.number(1, 4)}, {self.positive_of(n, 0)})",
            lambda: f"Exponential({self.positive_of(n, 0)})",
            lambda: f"InverseGamma({self.number(2, 5)}, {self.positive_of(n, 0)})",
        ]
        name = self._enter("s", self.pick(forms)(), n)
        self.positive.append((name, n))

    def _unit_prior(self) -> None:
        n = self.pick([1, 1, GROUPS])
        text = self.pick([f"Beta({self.number(0.8, 3)}, {self.number(0.8, 3)})", "Uniform(0, 1)"])
        name = self._enter("u", text, n)
        self.unit.append((name, n))

    def _weights(self, count: int) -> str:
        parts = 1 + self.rng.multinomial(20 - count, self.rng.dirichlet(np.full(count, 2.0)))
        return f"[{', '.join(f'{v / 20:.2f}' for v in parts)}]"

    def _label(self) -> None:
        n = self.pick([1, 1, GROUPS, self.rows])
        count = self.pick([2, 3])
        forms = [
            lambda: (f"Bernoulli({self.unit_of(n)})", 2),
            lambda: (f"Categorical(np.array({self._weights(count)}))", count),
            lambda: (f"DiscreteUniform(0, {self.rows})", self.rows + 1),
            lambda: (f"Binomial(2, {self.unit_of(n)})", 3),
        ]
        scalars = [(text, k) for text, m, k in self.labels if m == 1]
        if scalars:
            text, k = self.pick(scalars)
            rows = ", ".join(self._weights(count) for _ in range(k))
            forms += [
                lambda: (f"Categorical(np.array([{rows}])[{text}])".replace("np.array", "pm.math.constant"), count)
            ] * 3
            forms += [lambda: (f"DiscreteUniform({text}, {self.rows})", self.rows + 1)] * (k == self.rows + 1)
            n = 1
        text, count = self.pick(forms)()
        if count**n > 300:
            n = 1
        name = self._enter("z", text, n)
        self.labels.append((name, n, count))

    def _chain(self) -> None:
        """Labels one after the other, written as a loop or as a family."""
        count, n = self.pick([2, 3]), self.pick([GROUPS, self.rows])
        matrix = f"[{', '.join(self._weights(count) for _ in range(count))}]"
        start = f"np.array({self._weights(count)})"
        name = self.name("z")
        if self.chance(0.4):
            law = f"P=np.array({matrix}), init_dist=pm.Categorical.dist({start})"
            self.lines.append(f'{name} = pm.DiscreteMarkovChain("{name}", {law}, shape={n})')
        else:
            self.lines += [
                f'{name} = [pm.Categorical("{name}_0", {start})]',
                f"for t in range(1, {n}):",
                f'    {name}.append(pm.Categorical(f"{name}_{{t}}", pm.math.constant({matrix})[{name}[-1]]))',
                f"{name} = pm.math.stack({name})",
            ]
        self.labels.append((name, n, count))

    def compound(self) -> None:
        """Normal rows, each with a latent variable of its own in its mean or its variance."""
        form = self.pick(["HalfNormal", "Exponential", "variance"])
        name = self.name("e")
        family = "Exponential" if form == "variance" else form
        self.lines.append(f'{name} = pm.{family}("{name}", {self.positive_of(1, 1)}, shape={self.rows})')
        mean, scale = self.real_of(self.rows), self.positive_of(1, 1)
        if form == "variance":
            scale = f"pm.math.sqrt({self.number(0.3, 2)} * {name})"
        else:
            mean = f"{mean} + {self.pick(['w', '-w', self.number(0.3, 2)])} * {name}"
        values = ", ".join(map(str, self.rng.normal(0.5, 1, self.rows).round(2).tolist()))
        label = self.name("y")
        self.lines.append(f'pm.Normal("{label}", {mean}, {scale}, observed=np.array([{values}]))')

    def likelihood(self) -> None:
        n = self.pick([1, GROUPS, self.rows, self.rows, self.rows])
        rng = self.rng
        counts = lambda mean: rng.poisson(mean, n)
        forms = [lambda: (f"Normal({self.real_of(n)}, {self.positive_of(n)})", rng.normal(0.5, 1, n).round(2))] * 6
        forms += [
            lambda: (f"Poisson({self.positive_of(n)})", counts(2)),
            lambda: (f"Poisson({self.positive_of(n)})", counts(2)),
            lambda: (f"Exponential({self.positive_of(n)})", rng.exponential(1, n).round(2) + 0.01),
            lambda: (f"Gamma({self.number(1, 3)}, {self.positive_of(n)})", rng.gamma(2, 1, n).round(2) + 0.01),
            lambda: (f"Bernoulli({self.unit_of(n)})", rng.integers(0, 2, n)),
            lambda: (f"Binomial(4, {self.unit_of(n)})", rng.integers(0, 5, n)),
            lambda: (f"NegativeBinomial(n=2, p={self.unit_of(n)})", counts(2)),
            lambda: (f"Geometric({self.unit_of(n)})", counts(2) + 1),
            lambda: (f"StudentT(4, {self.real_of(n)}, {self.positive_of(n)})", rng.normal(0.5, 1, n).round(2)),
        ]
        text, data = self.pick(forms)()
        values = f"np.array([{', '.join(map(str, data.tolist()))}])" if n > 1 else f"{data.tolist()[0]}"
        name = self.name("y")
        family, arguments = text.split("(", 1)
        self.lines.append(f'pm.{family}("{name}", {arguments[:-1]}, observed={values})')

    def draw(self, compound: bool = False) -> str:
        """The program of a model; with rows that have latent variables of their own, where that is asked for."""
        for _ in range(int(self.rng.integers(2, 6))):
            self.prior()
        if self.chance(0.2):
            self.lines.append(f'pm.Deterministic("{self.name("d")}", {self.real_of(1)})')
        for _ in range(int(self.rng.integers(1, 4))):
            self.likelihood()
        if self.chance(0.1):
            self.lines.append(f'pm.Potential("{self.name("p")}", -0.5 * {self.real_of(1)} ** 2)')
        if compound:
            self.compound()
        return "\n".join(["with pm.Model() as model:", *(f"    {line}" for line in self.lines)])


def built(program: str, rows: int = ROWS):
    """The model of a program."""
    names = given(rows)
    exec(program, names)
    return names["model"]

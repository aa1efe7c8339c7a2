"""Books of rules: values that are added. Their order carries no meaning."""

from __future__ import annotations

from collections.abc import Iterator

from ppl.rewrites.engine.rule import Rule, RuleError, Safety


class Book:
    """A set of rules with distinct names."""

    def __init__(self, name: str, *rules: Rule) -> None:
        by_name: dict[str, Rule] = {}
        for rule in rules:
            if by_name.get(rule.name, rule) is not rule:
                raise RuleError(f"book {name!r}: two different rules are called {rule.name!r}; give one another name")
            by_name[rule.name] = rule
        self.name = name
        self.rules = tuple(by_name[key] for key in sorted(by_name))

    def __add__(self, other: Book) -> Book:
        return Book(f"{self.name} + {other.name}", *self.rules, *other.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __contains__(self, name: object) -> bool:
        return any(rule.name == name for rule in self.rules)

    def __getitem__(self, name: str) -> Rule:
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(f"book {self.name!r} has no rule {name!r}; it has {', '.join(r.name for r in self.rules)}")

    def __repr__(self) -> str:
        return f"<book {self.name} of {len(self)} rules>"

    def without(self, *names: str) -> Book:
        """The book with some rules switched off."""
        for name in names:
            self[name]
        return Book(self.name, *[rule for rule in self.rules if rule.name not in names])

    def safe(self) -> Book:
        """The book without the rules that may hide a nan."""
        return Book(self.name, *[rule for rule in self.rules if rule.safety is not Safety.nan_unsafe])

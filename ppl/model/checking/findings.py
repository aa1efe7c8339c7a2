"""Findings and the report that holds them: as text, as HTML and as JSON."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from ppl.graph.records import record

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
WIDTH, MOST_NAMES, MOST_OF_A_KIND = 100, 4, 4
COLORS = {"error": "#b00020", "warning": "#a05a00", "note": "#555555"}


@record
class Finding:
    """One remark: its kind, the variables meant, how grave it is, what was found, and what to do about it.

    An "error" means that results will be wrong or that there will be none, a "warning" that they are probably not what
    is wanted, a "note" that something is worth knowing.
    """

    kind: str
    variables: tuple[str, ...]
    severity: Severity
    sentence: str
    remedy: str


@record
class Report:
    """What was found in a model or in results, gravest first, and what could not be looked at."""

    subject: str
    findings: tuple[Finding, ...] = ()
    skipped: tuple[str, ...] = ()  # what was not looked at, and why
    milliseconds: float = 0.0

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def heading(self) -> str:
        """How many findings of each severity there are."""
        counts = [(len(self.of(s)), s) for s in SEVERITIES]
        words = [f"{n} {s}{'s' * (n > 1)}" for n, s in counts if n]
        return f"{self.subject}: {', '.join(words) if words else 'nothing to remark'}"

    def __str__(self) -> str:
        lines = [self.heading]
        for f in self.findings:
            lines += _wrapped(f"{f.severity}, {f.kind}: {f.sentence}", "  ")
            lines += _wrapped(f"→ {f.remedy}", "    ")
        for what in self.skipped:
            lines += _wrapped(f"not looked at: {what}", "  ")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{COLORS[f.severity]};text-align:left"><b>{f.severity}</b></td><td '
            f'style="text-align:left">{_escaped(f.kind)}</td><td '
            f'style="text-align:left">{_escaped(f.sentence)}<br><i>{_escaped(f.remedy)}</i></td></tr>'
            for f in self.findings
        )
        skipped = "".join(f"<li>{_escaped(what)}</li>" for what in self.skipped)
        return (
            f"<p><b>{_escaped(self.heading)}</b></p>"
            + (f"<table><tbody>{rows}</tbody></table>" if rows else "")
            + (f"<p>Not looked at:</p><ul>{skipped}</ul>" if skipped else "")
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        findings = [asdict(f) | {"variables": list(f.variables)} for f in self.findings]
        return {"subject": self.subject, "findings": findings, "skipped": list(self.skipped),
                "milliseconds": self.milliseconds}  # fmt: skip

    def to_json(self, **options: Any) -> str:
        """The report as JSON; options are those of `json.dumps`."""
        return json.dumps(self.to_dict(), **{"ensure_ascii": False, **options})


def report(subject: str, findings: Sequence[Finding], skipped: Sequence[str], milliseconds: float) -> Report:
    """A report with the gravest findings first, each once."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for f in dict.fromkeys(findings):
        groups.setdefault((f.kind, f.severity), []).append(f)
    few = [f for group in groups.values() for f in _shortened(group)]
    ordered = sorted(few, key=lambda f: SEVERITIES.index(f.severity))
    return Report(subject, tuple(ordered), tuple(dict.fromkeys(skipped)), milliseconds)


def _shortened(group: list[Finding]) -> list[Finding]:
    """Findings of one kind, the last of many in one: variables written in a loop share their faults."""
    if len(group) <= MOST_OF_A_KIND:
        return group
    rest = group[MOST_OF_A_KIND - 1 :]
    names = tuple(dict.fromkeys(name for f in rest for name in f.variables))
    told = f"There are {len(rest)} more findings of this kind, about {quoted(names)}."
    return [*group[: MOST_OF_A_KIND - 1], Finding(rest[0].kind, names, rest[0].severity, told, rest[0].remedy)]


def quoted(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names in quotation marks, as in a sentence.

    >>> quoted(["a", "b", "c"]), quoted(["a"])
    ('"a", "b" and "c"', '"a"')
    """
    shown = [f'"{name}"' for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def listed(items: Sequence[Any], most: int = 6) -> str:
    """Numbers or labels, as in a sentence."""
    shown = [str(item) for item in items[:most]]
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ") or [indent]


def _escaped(text: str) -> str:
    return html.escape(text)

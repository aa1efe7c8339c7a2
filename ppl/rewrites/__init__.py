"""Rewriting: books of rules that read as equations, and the engine that applies them."""

from ppl.rewrites.book import Book as Book
from ppl.rewrites.engine import strict as strict
from ppl.rewrites.facts import assume as assume
from ppl.rewrites.facts import declare_facts as declare_facts
from ppl.rewrites.rule import RuleError as RuleError
from ppl.rewrites.simplify import everything as everything
from ppl.rewrites.simplify import optimize as optimize
from ppl.rewrites.simplify import simplify as simplify
from ppl.rewrites.simplify import stabilise as stabilise
from ppl.rewrites.statement import equal as equal
from ppl.rewrites.statement import rewrites as rewrites
from ppl.rewrites.text import text as text
from ppl.rewrites.trace import Trace as Trace

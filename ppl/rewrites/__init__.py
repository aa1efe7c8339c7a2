"""Rewriting: books of rules that read as equations, and the engine that applies them."""

from ppl.rewrites.books.simplify import everything as everything
from ppl.rewrites.books.simplify import optimize as optimize
from ppl.rewrites.books.simplify import simplify as simplify
from ppl.rewrites.books.simplify import stabilize as stabilize
from ppl.rewrites.engine.book import Book as Book
from ppl.rewrites.engine.engine import strict as strict
from ppl.rewrites.engine.rule import RuleError as RuleError
from ppl.rewrites.engine.statement import equal as equal
from ppl.rewrites.engine.statement import rewrites as rewrites
from ppl.rewrites.engine.text import text as text
from ppl.rewrites.engine.trace import Trace as Trace
from ppl.rewrites.facts.facts import assume as assume
from ppl.rewrites.facts.facts import declare_facts as declare_facts

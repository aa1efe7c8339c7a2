"""Rows that lie elsewhere: files and tables of Arrow, read once, in blocks, and kept as sufficient statistics."""

from ppl.sources.from_arrow import from_arrow as from_arrow
from ppl.sources.source_rows import SourceRows as SourceRows

"""Formats entries of a catalogue as text and as JSON."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toplist.support.catalogue import Entry

NARROWEST = 30  # least columns for a sentence


def text_width() -> int:
    """The width of text: that of the terminal up to 120 columns, or 120 without a terminal."""
    return min(shutil.get_terminal_size((120, 24)).columns, 120) if sys.stdout.isatty() else 120


def entries_table(entries: Iterable[Entry]) -> str:
    """A table with a line per entry; on a terminal the sentences are wrapped.

    On a narrow terminal the titles, which resemble the names, are left out.
    """
    from toplist.support.tables import aligned_lines

    rows = list(entries)
    names, titles = ["name", *(row.name for row in rows)], ["title", *(row.title for row in rows)]
    papers = ["paper", *(row.paper or "-" for row in rows)]
    width = text_width() if sys.stdout.isatty() else sys.maxsize
    lines = aligned_lines([names, titles, papers], left=(0, 1, 2))
    if width - max(map(len, lines)) - 2 < NARROWEST:
        lines = aligned_lines([names, papers], left=(0, 1))
    indent = max(map(len, lines)) + 2
    text = []
    for line, summary in zip(lines, ["rule", *(row.summary for row in rows)], strict=True):
        folded = textwrap.wrap(summary, max(width - indent, NARROWEST)) or [""]
        text.append(f"{line:<{indent}}{folded[0]}".rstrip())
        text += [" " * indent + more for more in folded[1:]]
    return "\n".join(text)


def signature(entry: Entry) -> str:
    """The name with its parameters and their defaults."""
    inside = ", ".join(f"{name}{default_text(value)}" for name, value in entry.parameters.items())
    return f"{entry.name}({inside})" if inside else entry.name


def default_text(value: Any) -> str:
    """A default as in a signature; empty for a required parameter."""
    from toplist.support.catalogue import REQUIRED

    return "" if value is REQUIRED else f"={value!r}"


def parameters_table(parameters: dict[str, Any], meanings: dict[str, str]) -> str:
    """A line per parameter, with its description below it."""
    lines = []
    for name, value in parameters.items():
        lines.append(f"  {name}{default_text(value)}")
        indent = " " * 6
        lines += textwrap.wrap(meanings.get(name, ""), text_width(), initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines) or "  none"


def described(facts: dict[str, Any], between: Sequence[str] = ()) -> list[str]:
    """The paragraphs that describe an entry: heading, documentation, what is `between`, and parameters."""
    from toplist.support.docstrings import descriptions, sections

    title = f": {facts['title']}" if facts["title"] != facts["name"] else ""
    heading = f"{facts['name']}{title}" + (f" ({facts['paper']})" if facts["paper"] else "")
    text = sections(facts["documentation"] or "No documentation.")
    prose = "\n\n".join(text[part] for part in ("", "Notes") if part in text)
    paragraphs = [textwrap.fill(part, text_width(), break_on_hyphens=False) for part in prose.split("\n\n")]
    table = parameters_table(facts["parameters"], descriptions(facts["documentation"]))
    return [heading, *paragraphs, *between, f"parameters\n{table}"]


def entry_facts(entry: Entry) -> dict[str, Any]:
    """An entry as plain values for JSON."""
    from toplist.support.catalogue import REQUIRED

    return {
        "name": entry.name,
        "title": entry.title,
        "paper": entry.paper,
        "summary": entry.summary,
        "parameters": {name: value for name, value in entry.parameters.items() if value is not REQUIRED},
        "required": [name for name, value in entry.parameters.items() if value is REQUIRED],
    }

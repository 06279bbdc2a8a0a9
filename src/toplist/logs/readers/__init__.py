"""Layouts of logs, one module each, found by name or by the content of a source.

A module has `NAME`, `recognizes(source, options)` and `read(sources, options)`, which gives batches of lists.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from toplist.core.problem import nearest, refuse
from toplist.logs.assemble import ListBatch
from toplist.logs.columns import USUAL_NAMES, ReadOptions
from toplist.logs.formats.pieces import LogSource


class LayoutReader(Protocol):
    """A module that reads one layout."""

    NAME: str

    def recognizes(self, source: LogSource, options: ReadOptions, /) -> bool:
        """Whether a source has this layout."""

    def read(self, sources: Sequence[LogSource], options: ReadOptions, /) -> Iterator[ListBatch]:
        """The lists of all sources, in their order."""


def layouts() -> dict[str, LayoutReader]:
    """All readers by the names of their layouts."""
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return {module.NAME: cast(LayoutReader, module) for module in modules if hasattr(module, "NAME")}


def find_reader(source: LogSource, layout: str | None, options: ReadOptions) -> LayoutReader:
    """The reader of a layout, or the one that recognises the source."""
    known = layouts()
    if layout is not None:
        if layout not in known:
            advice = nearest(layout, known, "leave it out to recognise the layout by the content")
            raise refuse("The layout", layout, f"one of {', '.join(known)}", advice)
        return known[layout]
    for reader in known.values():
        if reader.recognizes(source, options):
            return reader
    found = ", ".join(source.columns())[:200]
    usual = {role: USUAL_NAMES[role][0] for role in ("items", "clicked", "list", "item", "click")}
    raise refuse(
        "The log", source.name,
        f"one with columns {usual['items']} and {usual['clicked']} (a row per list), or {usual['list']}, "
        f"{usual['item']} and {usual['click']} (a row per item shown), or in one of the layouts {', '.join(known)}",
        f"it has the columns {found}; name them with columns={{...}}, on the command line with --columns ROLE=NAME,...",
    )  # fmt: skip

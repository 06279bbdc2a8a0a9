"""HTML pages from templates: every text is escaped, and the style is the same for all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toplist.support.files import import_optional

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(package: str) -> Environment:
    """The templates of a package and the shared ones, with autoescape (needs the extra `report`)."""
    jinja2 = import_optional("jinja2", "report")
    made: Environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.PackageLoader("toplist.support")]),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    made.filters["code_pieces"] = code_pieces
    return made


def code_pieces(text: str) -> list[str]:
    """A text split into prose and code in turn; code is in backticks.

    >>> code_pieces("a < b, as `x_1`")
    ['a < b, as ', 'x_1', '']
    """
    return re.split(r"`([^`]+)`", text)

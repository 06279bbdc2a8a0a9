"""The documentation site: Markdown pages, and a reference made from the docstrings. Builds without a network."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import toplist
from toplist.core import protocols

sys.path.insert(0, str(Path(__file__).parent))

from generate import field_comments, fields

project = "toplist"
author = "the authors of toplist"
copyright = author
version = release = toplist.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["**/.*"]
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!toplist\b).*"),  # other people's names: there is no network to look them up
    ("py:class", r".*\.[A-Z]"),  # variables that stand for a type
]

html_theme = "furo"
html_title = f"toplist {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
smartquotes = False  # they would turn the dashes of a flag into one long dash

default_role = "code"  # docstrings put code in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("AnyPath", "Floats", "Ints", "What")}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100

# The protocols describe what parts do; saying it again at every part would hide what is special to each.
PROTOCOL_METHODS = {
    name
    for declared in vars(protocols).values()
    if inspect.isclass(declared) and declared.__module__ == protocols.__name__
    for name in vars(declared)
}


def skip(_app: Any, _what: str, name: str, value: Any, _skipped: bool, _options: Any) -> bool | None:
    """Leave out the fields of tuples, which the class describes, and methods that the protocols describe."""
    if type(value).__name__ == "_tuplegetter":
        return True
    owner = getattr(value, "__qualname__", "").partition(".")[0]
    part = getattr(sys.modules.get(getattr(value, "__module__", None) or ""), owner, None)
    if inspect.isclass(part) and issubclass(part, tuple) and part is not value and name in PROTOCOL_METHODS:
        return True
    return None


def describe(_app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Set examples apart from the text above them, and add what comments say of a class's fields."""
    text, example = [], False
    for line in lines:
        begins = line.startswith(">>>") and not example
        example = (example or begins) and bool(line.strip())
        text += ["", line] if begins else [line if example else escaped(line)]
    if what in ("class", "exception"):
        text += ["", *(f"- `{field}`: {escaped(comment)}" for field, comment in field_comments(value).items())]
    lines[:] = text


def escaped(line: str) -> str:
    """Plain prose for reStructuredText: outside of backticks a star, a bar or a low line is only that."""
    pieces = line.split("`")
    pieces[::2] = [re.sub(r"([\\*|_])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


def signature(
    _app: Any, what: str, _name: str, value: Any, _options: Any, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types and defaults as they stand in the code; none for protocols, of which nobody makes an instance."""
    if getattr(value, "_is_protocol", False):
        return "", ""
    if what == "class" and hasattr(value, "_fields"):
        given = f"({', '.join(declaration for declaration, _ in fields(value).values())})"
    given, returned = (
        text
        and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text).replace("~typing.", "").replace("<factory>", "{}")
        for text in (given, returned)
    )
    return given, returned


def setup(app: Any) -> None:
    """Hook these into the reference."""
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", describe)

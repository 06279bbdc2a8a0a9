"""Sphinx settings: Markdown pages, and a reference from NumPy docstrings. Builds without a network."""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.addnodes import pending_xref, pending_xref_condition
from sphinx.util import inspect as inspection
from sphinx.util.nodes import make_refnode

import toplist
from toplist.core import protocols
from toplist.support.docstrings import descriptions, sections

sys.path.insert(0, str(Path(__file__).parent))

from generate import field_comments, fields

project = "toplist"
author = "the authors of toplist"
copyright = author
version = release = toplist.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["**/.*"]
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!toplist\b).*"),  # names of other packages: there is no network to look them up
    ("py:class", r".*\.[A-Z]"),  # variables that stand for a type
    ("py:class", r"toplist\.service\.(client|http|wire_pages)\..*"),  # internals of the service
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

napoleon_google_docstring = False
napoleon_use_ivar = True  # an attribute in a docstring is a line, not an object that autodoc would find twice
napoleon_use_rtype = False

# The protocols describe the methods of parts: repeating them at every part would hide the special ones.
PROTOCOL_METHODS = {name for protocol in protocols.__all__ for name in vars(getattr(protocols, protocol))}


def skip(_app: Any, _what: str, name: str, value: Any, _skipped: bool, _options: Any) -> bool | None:
    """Leave out fields of tuples, which the class describes, and methods that the protocols describe."""
    if type(value).__name__ == "_tuplegetter":
        return True
    owner = getattr(value, "__qualname__", "").partition(".")[0]
    part = getattr(sys.modules.get(getattr(value, "__module__", None) or ""), owner, None)
    if inspect.isclass(part) and issubclass(part, tuple) and part is not value and name in PROTOCOL_METHODS:
        return True
    return None


# In these sections a line without indentation is a name with its type, which napoleon reads.
NAMING_SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also")


def describe(_app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Prepare a docstring for napoleon: escape prose, set examples apart, add the comments of a class's fields."""
    docstring = "\n".join(lines)
    known = sections(docstring)
    text = [*escaped(known.pop("")), ""]
    if what in ("class", "exception"):
        said = descriptions(docstring) | descriptions(docstring, "Attributes")
        comments = {field: comment for field, comment in field_comments(value).items() if field not in said}
        text += [*(f"- `{field}`: {escape(comment)}" for field, comment in comments.items()), ""]
    for section, body in known.items():
        text += [section, "-" * len(section), *escaped(body, names=section in NAMING_SECTIONS), ""]
    lines[:] = text


def escaped(prose: str, names: bool = False) -> list[str]:
    """The lines of a text, escaped except for examples and, with `names`, lines without indentation."""
    text, example = [], False
    for line in prose.splitlines():
        begins = line.lstrip().startswith(">>>") and not example
        example = (example or begins) and bool(line.strip())
        as_is = example or (names and not line.startswith(" "))
        text += ["", line] if begins else [line if as_is else escape(line)]
    return text


def escape(line: str) -> str:
    """Plain prose for reStructuredText: outside of backticks, a star, a bar and an underscore have no meaning."""
    pieces = line.split("`")
    pieces[::2] = [re.sub(r"([\\*|_])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


def signature(
    _app: Any, what: str, _name: str, value: Any, _options: Any, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types and defaults as in the code; none for protocols, which have no instances."""
    if getattr(value, "_is_protocol", False):
        return "", ""
    if what == "class" and hasattr(value, "_fields") and not has_own_new(value):
        given = f"({', '.join(declaration for declaration, _ in fields(value).values())})"
    module = getattr(value, "__module__", None) or ""
    if module.startswith("toplist.service.client.requests.") and hasattr(value, "__wrapped__"):
        # A method of the client: it has the arguments of a function that makes a request, and returns the reply.
        own = inspection.signature(value.__wrapped__)
        given = inspection.stringify_signature(own, show_return_annotation=False, unqualified_typehints=True)
        returned = re.sub(r"^[\w.~]+\[(.*)\]$", r"\1", returned or "")
    given, returned = (
        text
        and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text).replace("~typing.", "").replace("<factory>", "{}")
        for text in (given, returned)
    )
    return given, returned


def has_own_new(cls: type) -> bool:
    """Whether a class defines `__new__` itself, whose signature then holds more than the fields do."""
    return getattr(vars(cls).get("__new__"), "__module__", None) == cls.__module__


def link_by_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Link `KLUCB` and `toplist.parts.KLUCB` to the only class or function of that name in the reference."""
    path, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or not (path.startswith("toplist") or name[:1].isupper()):
        return None
    documented = env.get_domain("py").objects
    named = names_by_last_part(tuple(documented)).get(name, [])
    found = {(documented[full].docname, documented[full].node_id) for full in named}  # one object may have aliases
    return make_refnode(app.builder, node["refdoc"], *found.pop(), content, named[0]) if len(found) == 1 else None


@cache
def names_by_last_part(documented: tuple[str, ...]) -> dict[str, list[str]]:
    """The documented names of toplist by what stands behind the last dot."""
    found: dict[str, list[str]] = {}
    for full in documented:
        if full.startswith("toplist."):
            found.setdefault(full.rpartition(".")[2], []).append(full)
    return found


def unlink_words(_app: Any, doctree: Any) -> None:
    """Make plain text of words in types, such as "sequence", "positions" or "default 1": they are no classes."""
    for node in list(doctree.findall(pending_xref)):
        if node.get("reftype") == "class" and re.match(r"[^A-Z.]*$", node["reftarget"]):
            conditions = [one for one in node.children if isinstance(one, pending_xref_condition)]
            texts = [one for one in conditions if one["condition"] == "*"]
            node.replace_self(texts[0].children if texts else node.children)


def setup(app: Any) -> None:
    """Connect the functions above to autodoc."""
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", skip)
    app.connect("doctree-read", unlink_words)
    app.connect("missing-reference", link_by_name)
    app.connect("autodoc-process-docstring", describe, priority=400)  # napoleon has 500 and must come after

"""Parses docstrings of the NumPy convention, for the command line and the documents."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise

FIELD = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?$")  # one name, or several that share a description


def sections(text: str) -> dict[str, str]:
    """The text of each section by its heading; the text before the first one is under ""."""
    found = {"": ""}
    heading = ""
    for line, following in pairwise([*inspect.cleandoc(text).splitlines(), ""]):
        if line and following == "-" * len(line):
            heading = line
            found[heading] = ""
        elif not (heading and line == "-" * len(heading)):
            found[heading] += line + "\n"
    return {heading: body.strip("\n") for heading, body in found.items()}


def descriptions(text: str, heading: str = "Parameters") -> dict[str, str]:
    """The description of each parameter in one line, by its name."""
    described: dict[str, list[str]] = {}
    names: list[str] = []
    for line in sections(text).get(heading, "").splitlines():
        if not line.startswith(" ") and (field := FIELD.match(line)):
            names = field[1].split(", ")
        else:
            for name in names:
                described.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).strip() for name, lines in described.items()}

"""Generates docs/policies.md and docs/commands.md from the code: run by `make docs`.

With `--check` nothing is written, and the exit code is 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toplist import catalogue, cli
from toplist.core.problem import Problem
from toplist.core.protocols import Capabilities
from toplist.experiments.papers import PAPERS
from toplist.support.catalogue import REQUIRED, STARTS, USERS, WORLDS, Catalogue, Entry, written

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made by docs/generate.py: edit that, or what it reads, and run make docs. -->"
SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "References", "Examples")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def value(default: Any) -> str:
    """A default as written in code."""
    return "required" if default is REQUIRED else f"`{default!r}`"


def sections(docstring: str) -> dict[str, list[str]]:
    """The lines of a NumPy docstring by section; those before the first section are under ""."""
    lines = docstring.splitlines()
    found: dict[str, list[str]] = {"": []}
    name, underline = "", -1
    for number, (line, below) in enumerate(zip(lines, [*lines[1:], ""], strict=True)):
        if line in SECTIONS and re.fullmatch("-{3,}", below):
            name, underline = line, number + 1
            found[name] = []
        elif number != underline:
            found[name].append(line)
    return found


def meanings(docstring: str) -> dict[str, str]:
    """What the sections Parameters and Attributes of a NumPy docstring say, by name and in one line each."""
    found: dict[str, str] = {}
    known, names = sections(docstring), []
    for line in known.get("Parameters", []) + known.get("Attributes", []):
        if line.startswith(" "):
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
        elif line:
            names = [name.strip(" *") for name in line.partition(" : ")[0].split(",")]
            found |= dict.fromkeys(names, "")
    return found


def as_markdown(docstring: str) -> list[str]:
    """A NumPy docstring without its summary line and its parameters: text as it is, examples as blocks."""
    known = sections(docstring)
    lines = known[""][1:]
    for name in ("Returns", "Raises", "See Also", "Notes", "References"):
        lines += ["", *(line.strip() for line in known.get(name, []))]
    return [*lines, *(["", "```pycon", *examples, "```"] if (examples := known.get("Examples")) else [])]


def parameters(entry: Entry) -> str:
    """Names and defaults in one line."""
    given = entry.parameters.items()
    return ", ".join(f"`{name}`" if default is REQUIRED else f"`{name}={default!r}`" for name, default in given)


def capabilities(policy: Any) -> str:
    """What a policy can do, and what it cannot."""
    able: Capabilities = policy.prepare(Problem(9, 3, 2, 100)).capabilities()
    facts = {name: fact for name, fact in able._asdict().items() if isinstance(fact, bool)}
    yes, no = ([f"`{name}`" for name, fact in facts.items() if fact is wanted] for wanted in (True, False))
    return ", ".join(yes) + ("; not " if yes else "not ") + ", ".join(no)


def field_comments(cls: type) -> dict[str, str]:
    """The meaning of each field of a class: from its docstring, or else from the comment behind the field."""
    said = meanings(inspect.getdoc(cls) or "")
    found = {name: said.get(name) or comment for name, (_, comment) in fields(cls).items()}
    return {name: meaning for name, meaning in found.items() if meaning}


def fields(cls: type) -> dict[str, tuple[str, str]]:
    """Per field of a class its declaration and the comment behind it, as in the source."""
    try:
        source = inspect.cleandoc("\n" + inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    body = getattr(ast.parse(source).body[0], "body", [])
    declared = [node for node in body if isinstance(node, ast.AnnAssign)]
    return {
        ast.unparse(node.target): (ast.unparse(node).replace(": Any", ""), comments.get(node.lineno, ""))
        for node in declared
    }


def policies() -> str:
    """The page of all policies."""
    entries = catalogue().values()
    lines = [
        NOTE,
        "# Policies",
        "",
        "Every algorithm of the catalogue. Use its name, `cascade-kl-ucb`, or its name with parameters,",
        "`cascade-ucb1(scale=2)`. [](choosing.md) says which to use when; the [papers](#papers) are listed below.",
        "",
        *table(
            ("name", "title", "in one sentence", "paper"),
            ((f"[`{entry.name}`](#policy-{entry.name})", entry.title, entry.summary, entry.paper) for entry in entries),
        ),
    ]
    for entry in entries:
        policy = entry.make()
        said = inspect.getdoc(entry.build) or ""
        lines += ["", f"(policy-{entry.name})=", f"## {entry.title}", "", f"`{entry.name}`: {entry.summary}"]
        lines += ["", *as_markdown(said), "", "Made of", "", "```python", *made_of(policy), "```", ""]
        lines += [*parameter_table(entry.parameters, meanings(said)), "", f"Capabilities: {capabilities(policy)}."]
    rows = ((f"`{name}`", meaning) for name, meaning in field_comments(Capabilities).items())
    lines += ["", "## Capabilities", "", *table(("capability", "meaning"), rows)]
    papers = ((f"`{key}`", str(paper)) for key, paper in PAPERS.items())
    lines += ["", "## Papers", "", *table(("key", "paper"), papers)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def parameter_table(defaults: Mapping[str, Any], said: Mapping[str, str]) -> list[str]:
    """The parameters of a policy with their defaults and, if its docstring describes them, their meanings."""
    if not any(name in said for name in defaults):
        rows: Iterable[tuple[str, ...]] = ((f"`{name}`", value(default)) for name, default in defaults.items())
        return table(("parameter", "default"), rows) if defaults else []
    rows = ((f"`{name}`", value(default), said.get(name, "")) for name, default in defaults.items())
    return table(("parameter", "default", "meaning"), rows)


def made_of(policy: Any) -> list[str]:
    """The line that makes a policy, with its imports."""
    text = written(policy).replace("'", '"')
    names = sorted(set(re.findall(r"([A-Z]\w*)\(", text)))
    found = {name: _home(policy, name) for name in names}
    imports = [
        f"from {module} import {', '.join(name for name in names if found[name] == module)}"
        for module in sorted(set(found.values()))
    ]
    return [*imports, "", f"policy = {text}"]


def _home(part: Any, name: str) -> str:
    """The public module from which a part's class is imported."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if type(one).__name__ == name:
            return ".".join(type(one).__module__.split(".")[:2])
        waiting += [field for field in one if hasattr(field, "_fields")] if hasattr(one, "_fields") else []
    raise LookupError(name)


def commands() -> str:
    """The page of the command line."""
    parser = cli.parser()
    lines = [NOTE, "# Commands", "", parser.description or "", ""]
    lines += [*flags(parser), "", *epilog(parser)]
    for name, command in parser.commands().items():
        lines += ["", f"(command-{name})=", f"## toplist {name}", "", command.description or "", ""]
        lines += [*flags(command), "", *epilog(command)]
    for title, named in (("Worlds", WORLDS), ("Users", USERS), ("Starts", STARTS)):
        lines += ["", f"## {title}", "", *names(named)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def flags(parser: argparse.ArgumentParser) -> list[str]:
    """A table of a command's arguments."""
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        meaning = (action.help or "") % (vars(action) | {"prog": parser.prog})
        rows.append((spelling(action), meaning))
    return table(("argument", "meaning"), rows)


def spelling(action: argparse.Action) -> str:
    """An argument as it is typed."""
    word = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings and action.choices is None:
        word = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.choices is not None:
        word = "{" + ",".join(map(str, action.choices)) + "}"
    ways = [f"`{flag} {word}`" if word else f"`{flag}`" for flag in action.option_strings] or [f"`{word}`"]
    return ", ".join(ways)


def epilog(parser: argparse.ArgumentParser) -> list[str]:
    """The end of a command's help, as a block of text."""
    return ["```text", *parser.epilog.strip().splitlines(), "```"] if parser.epilog else []


def names(named: Catalogue) -> list[str]:
    """A table of everything in a catalogue."""
    rows = ((f"`{entry.name}`", parameters(entry), entry.summary) for entry in named.entries().values())
    return table(("name", "parameters", "in one sentence"), rows)


def pages() -> dict[Path, str]:
    """Every generated file, with its text."""
    return {ROOT / "docs" / "policies.md": policies(), ROOT / "docs" / "commands.md": commands()}


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is out of date")
    options = parser.parse_args(arguments)
    old = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if options.check:
        for path in old:
            print(f"{path.relative_to(ROOT)} is out of date; run make docs")
        return 1 if old else 0
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes what documents say of the catalogue and of the command line, from the code itself: run by `make docs`.

With `--check` nothing is written; it ends with 1 where something is out of date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toplist import catalogue, cli
from toplist.core.problem import Problem
from toplist.core.protocols import Capabilities
from toplist.experiments.papers import PAPERS
from toplist.support.catalogue import REQUIRED, STARTS, USERS, WORLDS, Catalogue, Entry, part_text

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made by docs/generate.py: edit that, or what it reads, and run make docs. -->"
BEGIN, END = "<!-- catalogue -->", "<!-- end of catalogue -->"  # around the table in README.md


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A Markdown table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def value(default: Any) -> str:
    """A default as one writes it."""
    return "must be given" if default is REQUIRED else f"`{default!r}`"


def parameters(entry: Entry) -> str:
    """Names and defaults in one line."""
    given = entry.parameters.items()
    return ", ".join(f"`{name}`" if default is REQUIRED else f"`{name}={default!r}`" for name, default in given)


def capabilities(policy: Any) -> str:
    """What a policy can take, and what not."""
    able: Capabilities = policy.prepare(Problem(9, 3, 2, 100)).capabilities()
    facts = {name: fact for name, fact in able._asdict().items() if isinstance(fact, bool)}
    yes, no = ([f"`{name}`" for name, fact in facts.items() if fact is wanted] for wanted in (True, False))
    return ", ".join(yes) + ("; not " if yes else "not ") + ", ".join(no)


def field_comments(cls: type) -> dict[str, str]:
    """The comment behind each field of a class, where there is one."""
    return {name: comment for name, (_, comment) in fields(cls).items() if comment}


def fields(cls: type) -> dict[str, tuple[str, str]]:
    """Per field of a class its declaration and the comment behind it, as they stand in the source."""
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
        "Every algorithm of the catalogue: ask for one by its name, as `cascade-kl-ucb`, or with parameters, as",
        "`cascade-ucb1(scale=2)`. [](choosing.md) says when to take which.",
        "",
        *table(
            ("name", "title", "in one sentence"),
            ((f"[`{entry.name}`](#policy-{entry.name})", entry.title, entry.summary) for entry in entries),
        ),
    ]
    for entry in entries:
        policy = entry.make()
        _, _, more = (inspect.getdoc(entry.build) or "").partition("\n")
        lines += ["", f"(policy-{entry.name})=", f"## {entry.title}", "", f"`{entry.name}`: {entry.summary}"]
        lines += ["", more.strip(), "", "Made of", "", "```python", *made_of(policy), "```", ""]
        if entry.parameters:
            rows = ((f"`{name}`", value(default)) for name, default in entry.parameters.items())
            lines += [*table(("parameter", "default"), rows), ""]
        lines += [f"Capabilities: {capabilities(policy)}."]
    meanings = ((f"`{name}`", meaning) for name, meaning in field_comments(Capabilities).items())
    lines += ["", "## Capabilities", "", *table(("capability", "meaning"), meanings)]
    papers = ((f"`{key}`", str(paper)) for key, paper in PAPERS.items())
    lines += ["", "## Papers", "", *table(("key", "paper"), papers)]
    return "\n".join(lines) + "\n"


def made_of(policy: Any) -> list[str]:
    """The line that makes a policy, with what it needs."""
    text = part_text(policy).replace("'", '"')
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
    lines += [*flags(parser), "", *after(parser)]
    for name, command in parser.commands().items():
        lines += ["", f"(command-{name})=", f"## toplist {name}", "", command.description or "", ""]
        lines += [*flags(command), "", *after(command)]
    for title, named in (("Worlds", WORLDS), ("Users", USERS), ("Starts", STARTS)):
        lines += ["", f"## {title}", "", *names(named)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def flags(parser: argparse.ArgumentParser) -> list[str]:
    """A table of what a command takes."""
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        told = (action.help or "") % (vars(action) | {"prog": parser.prog})
        rows.append((spelled(action), told))
    return table(("argument", "meaning"), rows)


def spelled(action: argparse.Action) -> str:
    """An argument as one types it."""
    word = action.metavar if isinstance(action.metavar, str) else (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings and action.choices is None:
        word = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.choices is not None:
        word = "{" + ",".join(map(str, action.choices)) + "}"
    ways = [f"`{flag} {word}`" if word else f"`{flag}`" for flag in action.option_strings] or [f"`{word}`"]
    return ", ".join(ways)


def after(parser: argparse.ArgumentParser) -> list[str]:
    """What the help of a command ends with: text as it stands."""
    return ["```text", *parser.epilog.strip().splitlines(), "```"] if parser.epilog else []


def names(named: Catalogue) -> list[str]:
    """A table of what can be asked for by name."""
    rows = ((f"`{entry.name}`", parameters(entry), entry.summary) for entry in named.entries().values())
    return table(("name", "parameters", "in one sentence"), rows)


def readme(text: str) -> str:
    """README.md with its table of the catalogue made anew."""
    rows = ((f"`{entry.name}`", entry.title, entry.summary, entry.paper) for entry in catalogue().values())
    made = "\n".join(table(("name", "title", "what it shows and learns from", "paper"), rows))
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{made}\n{END}{rest.split(END)[1]}"


def pages() -> dict[Path, str]:
    """Every file that is made here, with what should be in it."""
    home = ROOT / "README.md"
    return {
        ROOT / "docs" / "policies.md": policies(),
        ROOT / "docs" / "commands.md": commands(),
        home: readme(home.read_text(encoding="utf-8")),
    }


def main(arguments: list[str] | None = None) -> int:
    """Write what has changed, or say so."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where something is out of date")
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

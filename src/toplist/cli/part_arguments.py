"""Makes parts from arguments: a name of a catalogue, or `module:NAME` or `file.py:NAME` for a part of your own."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toplist.support.catalogue import Catalogue, Entry

PLACE = re.compile(r"(?P<module>.+?\.py|[\w.]+):(?P<rest>.*)", re.DOTALL)
ANY = "any"  # a part of any kind


def find_part(catalogue: Catalogue, text: str) -> tuple[Entry, dict[str, Any]]:
    """The entry that a text names, in the catalogue or in a file or module, and the parameters given in the text."""
    if not is_own(text):
        return catalogue.find(text)
    from toplist.support.catalogue import POLICIES, STARTS, USERS, WORLDS

    kinds = {POLICIES: "policy", WORLDS: "world", USERS: "users", STARTS: "start"}
    return find_own(text, kinds[catalogue])


def find_policy(text: str) -> tuple[Entry, dict[str, Any]]:
    """The entry of a policy, and the parameters given in the text."""
    from toplist.support.catalogue import POLICIES

    return find_part(POLICIES, text)


def find_in_any(catalogues: Sequence[Catalogue], text: str) -> tuple[Entry, dict[str, Any]]:
    """The entry that a text names in one of several catalogues, or of any part of one's own, and its parameters."""
    from toplist.core.problem import InvalidInput, nearest

    if is_own(text):
        return find_own(text, ANY)
    name = text.partition("(")[0].strip()
    for catalogue in catalogues:
        if name in catalogue.entries():
            return catalogue.find(text)
    *kinds, last = (f"{catalogue.kind}s".replace("policys", "policies") for catalogue in catalogues)
    known = [each for catalogue in catalogues for each in catalogue.entries()]
    advice = nearest(name, known, "`toplist policies` and `toplist worlds` list all")
    raise InvalidInput(
        f"There is no {name!r} among {', '.join(kinds)} and {last}; {advice}, or name your own, as mine.py:Mine."
    )


def is_own(text: str) -> bool:
    """Whether a text names a part in a file or module, not one of a catalogue."""
    return PLACE.fullmatch(text.strip()) is not None or text.strip().endswith(".py")


def find_own(text: str, kind: str) -> tuple[Entry, dict[str, Any]]:
    """The entry of a part of one's own, whose result is checked to be of this kind."""
    from toplist.core.problem import InvalidInput, nearest
    from toplist.support.catalogue import parse

    title = kind_title(kind)
    place = PLACE.fullmatch(text.strip())
    if place is None:
        file = text.strip()
        names = part_names(load_module(file), kind) or ["NAME"]
        raise InvalidInput(f"{file!r} is a file, which may hold several parts; write {file}:{names[0]}.")
    try:
        name, parameters = parse(place["rest"])
    except ValueError:
        raise InvalidInput(
            f"{text!r} must be a module and a name, with or without parameters; write it like 'mine.py:Mine(scale=2)'."
        ) from None
    module = load_module(place["module"])
    if not name or not hasattr(module, name):
        others = part_names(module, kind)
        otherwise = f"choose {' or '.join(others)}" if others else "write it as module:NAME"
        advice = nearest(name, others, otherwise)
        raise InvalidInput(f"There is no {name!r} in {place['module']}; {advice}.")
    entry = own_entry(f"{place['module']}:{name}", getattr(module, name), kind)
    entry.check_known(parameters)
    if missing := entry.missing(parameters):
        example = f"{entry.name}({', '.join(f'{each}=...' for each in missing)})"
        raise InvalidInput(
            f"{entry.name} needs {' and '.join(missing)}, but must be {title} or make one; write {example} if it "
            f"makes one, else name one, as mine.py:Mine."
        )
    return entry, parameters


def own_entry(label: str, found: Any, kind: str) -> Entry:
    """The entry of an object of a module: a part, or a function or class that makes one."""
    from toplist.core.protocols.kinds import kind_of
    from toplist.support.catalogue import Entry

    if isinstance(found, type) or (callable(found) and kind_of(found) is None):

        @functools.wraps(found, updated=())  # only a name and a docstring, not the methods of a class
        def build(**parameters: Any) -> Any:
            return checked_part(label, found(**parameters), kind)

        return Entry(label, label, "", build)
    return Entry(label, label, "", lambda: checked_part(label, found, kind))


def checked_part(label: str, made: Any, kind: str) -> Any:
    """A part of one's own, or the error that it is of another kind."""
    from toplist.core.problem import InvalidInput
    from toplist.core.protocols.kinds import KINDS, kind_of

    found = kind_of(made)
    is_pair = kind in ("world", ANY) and isinstance(made, tuple) and [*map(kind_of, made)] == ["world", "users"]
    if not isinstance(made, type) and (found == kind or is_pair or (kind == ANY and found is not None)):
        return made
    shown = KINDS[found].title if found is not None and not isinstance(made, type) else repr(made)
    if len(shown) > 80:
        shown = f"{shown[:77]}..."
    raise InvalidInput(f"{label} is {shown}, but must be {kind_title(kind)} or make one; name one, as mine.py:Mine.")


def kind_title(kind: str) -> str:
    """What messages call a kind of part."""
    from toplist.core.protocols.kinds import KINDS

    return "a part of toplist, as a policy, a click model or an index," if kind == ANY else KINDS[kind].title


def part_names(module: Any, kind: str) -> list[str]:
    """The names of all parts of a kind in a module, and of its own classes and functions that may make one."""
    from toplist.core.protocols.kinds import kind_of

    found = []
    for name, value in vars(module).items():
        fits = kind_of(value) is not None if kind == ANY else kind_of(value) == kind
        made_here = getattr(value, "__module__", None) == module.__name__
        makes = made_here and (inspect.isfunction(value) or (isinstance(value, type) and fits))
        if (makes or (fits and not isinstance(value, type))) and not name.startswith("_"):
            found.append(name)
    return found


def make_policies(texts: Sequence[str]) -> dict[str, Any]:
    """Make the policies that the texts name, by label: that of `LABEL=POLICY`, else the text itself."""
    from toplist.core.problem import InvalidInput

    found: dict[str, Any] = {}
    for given in texts:
        label, text = split_label(given)
        if label in found:
            raise InvalidInput(
                f"The policy {label!r} is named twice; leave one out, or label them, as {label}-2={text}."
            )
        entry, parameters = find_policy(text)
        found[label] = entry.make(**parameters)
    return found


def split_label(text: str) -> tuple[str, str]:
    """The label and the rest of `LABEL=NAME`; without a label, the name is its own.

    The label ends at the first = outside brackets, so that those of parameters do not count.

    >>> split_label("ours=cascade-ucb1(scale=2)"), split_label("cascade-ucb1(scale=2)")
    (('ours', 'cascade-ucb1(scale=2)'), ('cascade-ucb1(scale=2)', 'cascade-ucb1(scale=2)'))
    """
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "=" and depth == 0:
            label, rest = text[:place].strip(), text[place + 1 :].strip()
            if label and rest:
                return label, rest
            break
    return text.strip(), text.strip()


def tunable_policy(text: str) -> Any:
    """The policy that a text names, as an argument for `toplist.tune`."""
    if not is_own(text):
        return text
    entry, parameters = find_policy(text)
    build = functools.partial(entry.build, **parameters)
    build.__name__ = entry.name  # type: ignore[attr-defined]
    return build


def load_module(module: str) -> Any:
    """Import a module by name, from the current folder first, or by its file."""
    from toplist.core.problem import InvalidInput

    name, folder = module, Path.cwd()
    if module.endswith(".py"):
        file = Path(module)
        if not file.is_file():
            raise InvalidInput(f"There is no file {module!r}; give the path of a Python file.")
        name, folder = file.stem, file.resolve().parent
    if str(folder) not in sys.path[:1]:
        sys.path.insert(0, str(folder))  # stays there: the cache of compiled code imports the module by name
    try:
        found = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name is not None
        if missing and (name == error.name or name.startswith(f"{error.name}.")):  # type: ignore[union-attr]
            raise InvalidInput(f"There is no module {name!r} in {folder} or among those installed.") from error
        raise InvalidInput(f"{module} cannot be imported: {type(error).__name__}: {error}.") from error
    if module.endswith(".py") and Path(found.__file__ or "").resolve() != Path(module).resolve():
        raise InvalidInput(f"{module} has the name of another module, {found.__file__ or name}; rename it.")
    return found

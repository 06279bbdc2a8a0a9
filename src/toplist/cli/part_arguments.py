"""Makes parts from arguments: a name of a catalogue, or `module:NAME` or `file.py:NAME` for a part of your own."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toplist.support.catalogue import Catalogue, Entry

PLACE = re.compile(r"(?P<module>.+?\.py|[\w.]+):(?P<rest>.*)", re.DOTALL)


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
    from toplist.support.own_parts import ANY

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
    from toplist.support.own_parts import kind_title, load_module, own_entry, part_names
    from toplist.support.tables import series

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
        otherwise = f"choose {series(others, 'or')}" if others else "write it as module:NAME"
        advice = nearest(name, others, otherwise)
        raise InvalidInput(f"There is no {name!r} in {place['module']}; {advice}.")
    entry = own_entry(f"{place['module']}:{name}", getattr(module, name), kind)
    entry.check_known(parameters)
    if missing := entry.missing(parameters):
        example = f"{entry.name}({', '.join(f'{each}=...' for each in missing)})"
        if not isinstance(getattr(module, name), type):
            raise InvalidInput(
                f"{entry.name} is a function, but must be {title}; name one, as mine.py:Mine, or write {example} if it "
                f"makes one."
            )
        raise InvalidInput(
            f"{entry.name} needs {series(missing)}, but must be {title} or make one; write {example} if it "
            f"makes one, else name one, as mine.py:Mine."
        )
    return entry, parameters


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

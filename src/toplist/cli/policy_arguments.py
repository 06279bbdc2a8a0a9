"""Makes policies from arguments: a name of the catalogue, or `module:NAME` or `file.py:NAME` for your own policy."""

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
    from toplist.support.catalogue import Entry

PLACE = re.compile(r"(?P<module>.+?\.py|[\w.]+):(?P<rest>.*)", re.DOTALL)


def find_policy(text: str) -> tuple[Entry, dict[str, Any]]:
    """The entry that a text names, and the parameters given in the text."""
    from toplist.core.problem import InvalidInput, nearest
    from toplist.support.catalogue import POLICIES, parse

    place = PLACE.fullmatch(text.strip())
    if place is None:
        file = text.strip()
        if file.endswith(".py"):
            names = policy_names(load_module(file)) or ["NAME"]
            raise InvalidInput(f"The policy is {file!r}, but a file may hold several; write {file}:{names[0]}.")
        return POLICIES.find(text)
    try:
        name, parameters = parse(place["rest"])
    except ValueError:
        raise InvalidInput(
            f"The policy is {text!r}, but must be a module and a name; write it like 'mine.py:Mine(scale=2)'."
        ) from None
    module = load_module(place["module"])
    if not name or not hasattr(module, name):
        others = policy_names(module)
        otherwise = f"choose {' or '.join(others)}" if others else "write it as module:NAME"
        advice = nearest(name, others, otherwise)
        raise InvalidInput(f"There is no {name!r} in {place['module']}; {advice}.")
    return _entry(f"{place['module']}:{name}", getattr(module, name)), parameters


def policy_names(module: Any) -> list[str]:
    """The names of all policies in a module, and of its own classes and functions that may make one."""
    found = []
    for name, value in vars(module).items():
        ranks = hasattr(value, "rank") and hasattr(value, "learn")
        made_here = getattr(value, "__module__", None) == module.__name__
        makes = made_here and (inspect.isfunction(value) or (isinstance(value, type) and ranks))
        if (makes or (ranks and not isinstance(value, type))) and not name.startswith("_"):
            found.append(name)
    return found


def make_policy(text: str) -> Any:
    """Make the policy that a text names."""
    return make_found(*find_policy(text))


def make_found(entry: Entry, parameters: dict[str, Any]) -> Any:
    """Make the policy that `find_policy` found."""
    from toplist.core.problem import InvalidInput
    from toplist.policies import make
    from toplist.support.catalogue import REQUIRED

    entry.check_known(parameters)
    own = ":" in entry.name
    missing = [name for name, default in entry.parameters.items() if default is REQUIRED and name not in parameters]
    if own and missing:
        example = f"{entry.name}({', '.join(f'{name}=...' for name in missing)})"
        raise InvalidInput(
            f"{entry.name} needs {' and '.join(missing)}, but must be a policy or make one; write {example} if it "
            f"makes a policy, else name one, as mine.py:Mine."
        )
    return make(entry.make(**parameters))


def make_policies(texts: Sequence[str]) -> dict[str, Any]:
    """Make the policies that the texts name, by text."""
    from toplist.core.problem import InvalidInput

    found: dict[str, Any] = {}
    for text in map(str.strip, texts):
        if text in found:
            raise InvalidInput(f"The policy {text!r} is named twice; leave one out.")
        found[text] = make_policy(text)
    return found


def tunable_policy(text: str) -> Any:
    """The policy that a text names, as an argument for `toplist.tune`."""
    if PLACE.fullmatch(text.strip()) is None:
        return text
    entry, parameters = find_policy(text)
    build = functools.partial(entry.build, **parameters)
    build.__name__ = entry.name  # type: ignore[attr-defined]
    return build


def _entry(label: str, found: Any) -> Entry:
    from toplist.support.catalogue import Entry

    if isinstance(found, type) or (callable(found) and not hasattr(found, "prepare")):
        return Entry(label, label, "", found)
    return Entry(label, label, "", lambda: found)


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

"""Parts of your own: imports their modules, by name or by file, and checks of what kind they are."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from toplist.core.problem import InvalidInput
from toplist.core.protocols.kinds import KINDS, kind_of
from toplist.support.catalogue import Entry

ANY = "any"  # a part of any kind


def load_module(module: str) -> Any:
    """Import a module by name, from the current folder first, or by its file."""
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


def own_entry(label: str, found: Any, kind: str) -> Entry:
    """The entry of an object of a module: a part, or a function or class that makes one."""
    if isinstance(found, type) or (callable(found) and kind_of(found) is None):

        @functools.wraps(found, updated=())  # only a name and a docstring, not the methods of a class
        def build(**parameters: Any) -> Any:
            try:
                made = found(**parameters)
            except InvalidInput:
                raise
            except Exception as error:
                raise InvalidInput(
                    f"{label} cannot be made: {type(error).__name__}: {error}; correct its code, or its parameters."
                ) from error
            return checked_part(label, made, kind)

        return Entry(label, label, "", build)
    return Entry(label, label, "", lambda: checked_part(label, found, kind))


def checked_part(label: str, made: Any, kind: str) -> Any:
    """A part of one's own, or the error that it is of another kind."""
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
    return "a part of toplist (a policy, a click model, an index ...)" if kind == ANY else KINDS[kind].title


def part_names(module: Any, kind: str) -> list[str]:
    """The names of all parts of a kind in a module, and of its own classes and functions that may make one."""
    found = []
    for name, value in vars(module).items():
        fits = kind_of(value) is not None if kind == ANY else kind_of(value) == kind
        made_here = getattr(value, "__module__", None) == module.__name__
        makes = made_here and (inspect.isfunction(value) or (isinstance(value, type) and fits))
        if (makes or (fits and not isinstance(value, type))) and not name.startswith("_"):
            found.append(name)
    return found

"""Files and optional modules: refused before any work starts, and written so that no half of one is ever seen."""

from __future__ import annotations

import importlib
import json
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, refuse

AnyPath = str | os.PathLike[str]
_HEADER = "header"


class Unwritable(InvalidInput):
    """A path that makes sense, but where this system does not let a file be written."""


def check_writable(path: AnyPath, what: str, suffixes: Sequence[str] = ()) -> Path:
    """Where a file written to `path` will lie, or the error that says why it cannot; nothing is touched.

    >>> check_writable("regret.txt", "The plot", suffixes=(".png", ".svg", ".pdf"))
    Traceback (most recent call last):
    toplist.core.problem.InvalidInput: The plot is 'regret.txt', but must be a file that ends in .png, .svg or .pdf; \
change the ending of its name.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise refuse(what, path, "a path, as text or pathlib.Path", "give the file to write")
    if not text or text.endswith(os.sep) or os.path.isdir(text):
        raise refuse(what, text, "a file, not a folder", "add the name of a file")
    if suffixes and Path(text).suffix.lower() not in suffixes:
        endings = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        raise refuse(what, text, f"a file that ends in {endings}", "change the ending of its name")
    try:
        ordinary, there = stat.S_ISREG(os.stat(text).st_mode), True
    except (FileNotFoundError, NotADirectoryError):
        ordinary, there = True, False
    except (OSError, ValueError) as problem:  # too long, in a circle, not to be looked at
        advice = f"choose another one ({problem})"
        raise Unwritable(str(refuse(what, text, "a path that can be written to", advice))) from problem
    target = Path(os.path.realpath(text))  # what a link points to is written, not the link
    folder = str(target.parent)
    obstacles = (
        (not os.path.exists(folder), "in a folder that exists", f"create the folder {folder!r} first"),
        (not os.path.isdir(folder), "in a folder", f"choose another place, since {folder!r} is a file"),
        # A new file takes the old one's place, which would be the end of a device or a pipe.
        (not ordinary, "an ordinary file", "write to an ordinary one and copy it from there"),
        (not os.access(folder, os.W_OK | os.X_OK), "in a folder you may write to", f"get that right on {folder!r}"),
        (there and not os.access(target, os.W_OK), "a file you may write to", "choose another one or get that right"),
    )
    for hinders, accepted, advice in obstacles:
        if hinders:
            raise Unwritable(str(refuse(what, text, accepted, advice)))
    return target


@contextmanager
def replace_file(path: AnyPath, what: str, suffixes: Sequence[str] = ()) -> Iterator[Path]:
    """A new file beside `path` that takes its place once it is complete, and is gone if it never is.

    Whoever may read and write the old one may do so with the new one.
    """
    target = check_writable(path, what, suffixes)
    new = target.with_name(f".toplist-{secrets.token_hex(8)}.tmp")
    try:
        yield new
        with new.open("rb") as written:
            os.fsync(written.fileno())  # complete on the disk before the old one goes
        if target.exists():
            new.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(new, target)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def private_files() -> Iterator[None]:
    """New files are for nobody else meanwhile; only for a whole process, as all its threads share the mask."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def slug(label: str) -> str:
    """A label as the name of a file: readable, and no other label's.

    >>> slug("L=16 K=2"), slug("a")
    ('L-16-K-2-4d218156', 'a')
    """
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", label)[:60].strip("-.")
    return readable if readable == label else f"{readable}-{zlib.crc32(label.encode()):08x}"


def write_text(path: AnyPath, what: str, text: str) -> None:
    """Write a text as it is to one file, whole or not at all."""
    with replace_file(path, what) as new, new.open("x", encoding="utf-8", newline="") as file:
        file.write(text)


def read_json(
    path: AnyPath, form: Mapping[str, Any], fields: Sequence[str], more: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of a file that begins with its `form`, and those of `more` that it has."""
    accepted = f"a file that {str(form['format']).rpartition('.')[2]}.to_json wrote"
    try:
        everything = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError) as problem:
        raise refuse("The json file", path, accepted, f"it cannot be read: {problem}") from problem
    head = {key: everything.get(key) for key in form} if isinstance(everything, dict) else None
    if head != form:
        raise refuse("The json file", path, accepted, f"it begins with {head}, not {form}")
    if missing := [key for key in fields if key not in everything]:
        raise refuse("The json file", path, accepted, f"it lacks {', '.join(missing)}")
    return {key: everything[key] for key in (*fields, *more) if key in everything}


def write_arrays(
    path: AnyPath, what: str, header: dict[str, Any], arrays: dict[str, Any], private: bool = False
) -> None:
    """Write arrays and a header of plain values to one file, whole or not at all; a new `private` one is one's own."""
    described = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    mode = 0o600 if private else 0o666
    opened = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with replace_file(path, what) as new, open(os.open(new, opened, mode), "wb") as file:
        np.savez(file, **{_HEADER: described}, **arrays)  # type: ignore[arg-type]


def read_arrays(path: AnyPath, what: str, written_by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of such a file; code in it is never run."""
    if not isinstance(path, str | os.PathLike):
        raise refuse(what, path, "a path, as text or pathlib.Path", "give the file to read")
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return dict(json.loads(arrays.pop(_HEADER).tobytes())), arrays
    except FileNotFoundError:
        raise refuse(what, os.fspath(path), "a file that exists", "name another one") from None
    except OSError as problem:
        raise refuse(what, os.fspath(path), "a file that can be read", f"see why it cannot ({problem})") from problem
    except MemoryError:
        raise
    except Exception:  # damaged files raise whatever comes to mind of those who read them
        raise InvalidInput(
            f"{path} is not a file that {written_by} has written, or is damaged; name another file or remove it."
        ) from None


def import_optional(module: str, extra: str) -> Any:
    """A module that only some installations have."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        needed = f"this needs {module.partition('.')[0]}, which cannot be imported"
        raise ImportError(f'{needed}; install it with: pip install "toplist[{extra}]"') from problem

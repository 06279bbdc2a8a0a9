"""Files that are checked before the work starts and replaced atomically, and imports of optional modules."""

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
from typing import Any, BinaryIO

import numpy as np

from toplist.core.problem import InvalidInput, refuse

AnyPath = str | os.PathLike[str]
_HEADER = "header"


class Unwritable(InvalidInput):
    """A valid path to which this system does not let a file be written."""


def check_writable(path: AnyPath, what: str, suffixes: Sequence[str] = ()) -> Path:
    """The file that writing to `path` replaces, links resolved, or the error that says why not; nothing is changed.

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
    except (OSError, ValueError) as problem:  # too long, circular links, no permission
        advice = f"choose another one ({problem})"
        raise Unwritable(str(refuse(what, text, "a path that can be written to", advice))) from problem
    target = Path(os.path.realpath(text))  # a link's target is replaced, not the link
    folder = str(target.parent)
    obstacles = (
        (not os.path.exists(folder), "in a folder that exists", f"create the folder {folder!r} first"),
        (not os.path.isdir(folder), "in a folder", f"choose another place, since {folder!r} is a file"),
        # The file is replaced, which would delete a device or a pipe.
        (not ordinary, "an ordinary file", "write to an ordinary one and copy it from there"),
        (not os.access(folder, os.W_OK | os.X_OK), "in a folder you may write to", f"get permission for {folder!r}"),
        (there and not os.access(target, os.W_OK), "a file you may write to", "choose another one or get permission"),
    )
    for is_present, accepted, advice in obstacles:
        if is_present:
            raise Unwritable(str(refuse(what, text, accepted, advice)))
    return target


@contextmanager
def replace_file(path: AnyPath, what: str, suffixes: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a new file beside `path` that replaces it on success and is removed on failure.

    The new file has the permissions of the old one.
    """
    target = check_writable(path, what, suffixes)
    new = target.with_name(f".toplist-{secrets.token_hex(8)}.tmp")
    try:
        yield new
        with new.open("rb") as complete:
            os.fsync(complete.fileno())  # complete on the disk before the old one is gone
        if target.exists():
            new.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(new, target)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def private_files() -> Iterator[None]:
    """New files are readable by their owner alone; for a whole process only, since threads share the umask."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def slug(label: str) -> str:
    """A label as the name of a file: readable, and unique to the label.

    >>> slug("L=16 K=2"), slug("a")
    ('L-16-K-2-4d218156', 'a')
    """
    readable = re.sub(r"[^A-Za-z0-9_.]+", "-", label)[:60].strip("-.")
    return readable if readable == label else f"{readable}-{zlib.crc32(label.encode()):08x}"


def write_text(path: AnyPath, what: str, text: str) -> None:
    """Write a text to a file, atomically and without translating line ends."""
    with replace_file(path, what) as new, new.open("x", encoding="utf-8", newline="") as file:
        file.write(text)


def read_json(
    path: AnyPath, form: Mapping[str, Any], fields: Sequence[str], more: Sequence[str] = ()
) -> dict[str, Any]:
    """The `fields` of a JSON file that has the given `form`, and those of `more` that it contains."""
    accepted = f"a file that {str(form['format']).rpartition('.')[2]}.to_json wrote"
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError) as problem:
        raise refuse("The json file", path, accepted, f"it cannot be read: {problem}") from problem
    head = {name: content.get(name) for name in form} if isinstance(content, dict) else None
    if head != form:
        raise refuse("The json file", path, accepted, f"it begins with {head}, not {form}")
    if missing := [name for name in fields if name not in content]:
        raise refuse("The json file", path, accepted, f"it lacks {', '.join(missing)}")
    return {name: content[name] for name in (*fields, *more) if name in content}


def write_arrays(
    path: AnyPath, what: str, header: dict[str, Any], arrays: dict[str, Any], private: bool = False
) -> None:
    """Write arrays and a header of plain values to a file, atomically; a new `private` file is its owner's alone."""
    header_bytes = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    mode = 0o600 if private else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with replace_file(path, what) as new, open(os.open(new, flags, mode), "wb") as file:
        np.savez(file, **{_HEADER: header_bytes}, **arrays)  # type: ignore[arg-type]


def read_arrays(path: AnyPath, what: str, written_by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a file that `write_arrays` wrote; pickled code is never run."""
    if not isinstance(path, str | os.PathLike):
        raise refuse(what, path, "a path, as text or pathlib.Path", "give the file to read")
    try:
        with open(path, "rb") as opened:
            return arrays_of(opened, str(path), written_by)
    except FileNotFoundError:
        raise refuse(what, os.fspath(path), "a file that exists", "name another one") from None
    except OSError as problem:
        raise refuse(what, os.fspath(path), "a file that can be read", f"see why it cannot ({problem})") from problem


def arrays_of(opened: BinaryIO, origin: str, written_by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of an opened file that `write_arrays` wrote; pickled code is never run."""
    try:
        with np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return dict(json.loads(arrays.pop(_HEADER).tobytes())), arrays
    except (OSError, MemoryError):
        raise
    except Exception:  # a damaged file may raise any exception in NumPy, zipfile or json
        raise InvalidInput(
            f"{origin} is not a file that {written_by} has written, or is damaged; name another file or remove it."
        ) from None


def import_optional(module: str, extra: str) -> Any:
    """Import a module of an optional dependency, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        needed = f"this needs {module.partition('.')[0]}, which cannot be imported"
        raise ImportError(f'{needed}; install it with: pip install "toplist[{extra}]"') from problem

"""The layout is as docs/architecture.md says: who imports whom, one class per name, no private names of others."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "toplist"
DOCUMENT = (ROOT / "docs" / "architecture.md").read_text()


def modules(folder: Path = PACKAGE) -> Iterator[Path]:
    return iter(sorted(folder.rglob("*.py")))


def dotted(path: Path) -> str:
    steps = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(steps[:-1] if steps[-1] == "__init__" else steps)


def imported(path: Path) -> Iterator[str]:
    """Modules of toplist that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "toplist")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "toplist":
            for alias in node.names:
                inner = PACKAGE.joinpath(*node.module.split(".")[1:], alias.name) if node.module else PACKAGE
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else str(node.module)


def table(heading: str) -> dict[str, set[str]]:
    """The table below a heading: the first column, and the set of code in the last one."""
    section = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    assert rows, f"docs/architecture.md has no table below {heading!r}"
    return {first.strip().strip("`").rstrip("/"): set(re.findall(r"`([\w.]+)/?`", last)) for first, *_, last in rows}


def folder_of(module: str) -> str:
    """The row of the table of folders that a module belongs to."""
    steps = module.split(".")
    name = steps[1] if len(steps) > 1 else ""
    return name if (PACKAGE / name).is_dir() else f"{name}.py"


FOLDERS = table("Folders")
ROOMS = table("The service")


def test_the_table_has_every_folder() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert set(FOLDERS) == folders | files


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_what_the_table_says(folder: str) -> None:
    place = PACKAGE / folder
    paths = modules(place) if place.is_dir() else iter([place])
    found = {folder_of(name) for path in paths for name in imported(path) if name != "toplist"}
    assert found - {folder} == FOLDERS[folder]


def room_of(module: str) -> str | None:
    """The room of the service that a module belongs to: a folder, or a file beside them."""
    steps = module.split(".")
    if steps[:2] != ["toplist", "service"] or len(steps) < 3:
        return None
    return steps[2] if (PACKAGE / "service" / steps[2]).is_dir() else f"{steps[2]}.py"


def test_the_table_has_every_room_of_the_service() -> None:
    service = PACKAGE / "service"
    rooms = {path.name for path in service.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(ROOMS) == rooms | {path.name for path in service.glob("*.py")} - {"__init__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_service_imports_what_the_table_says(room: str) -> None:
    place = PACKAGE / "service" / room
    paths = modules(place) if place.is_dir() else iter([place])
    found = {room_of(name) for path in paths for name in imported(path)} - {None, room}
    assert found == ROOMS[room]


def test_rooms_of_the_service_are_layers() -> None:
    """From the top: a room imports rooms below it, and never one above."""
    below: dict[str, set[str]] = {}
    rest = dict(ROOMS)
    while rest:
        bottom = [room for room, known in rest.items() if known <= set(below)]
        assert bottom, f"these rooms import each other: {sorted(rest)}"
        below |= {room: rest.pop(room) for room in bottom}
    assert {"live", "log", "store"} <= ROOMS["http"] | ROOMS["live"] | ROOMS["log"]
    assert not ROOMS["store"] & {"http", "live", "log", "client"}
    assert not ROOMS["log"] & {"http", "live", "client"}
    assert not ROOMS["live"] & {"http", "client"}
    assert ROOMS["client"] == {"wire"}
    assert ROOMS["wire"] == set()


def test_no_import_goes_in_a_circle() -> None:
    names = {dotted(path) for path in modules()}
    top_level: dict[str, set[str]] = {}
    for path in modules():
        body = ast.parse(path.read_text()).body
        found = {
            node.module if f"{node.module}.{alias.name}" not in names else f"{node.module}.{alias.name}"
            for node in body
            if isinstance(node, ast.ImportFrom) and node.module
            for alias in node.names
        }
        found |= {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
        top_level[dotted(path)] = {str(name) for name in found if name in names} - {dotted(path)}
    for package in [name for name in names if (PACKAGE.parent / name.replace(".", "/")).is_dir()]:
        # A package imports its own modules; that they import the package again is the circle to look for.
        assert all(package not in top_level[inner] for inner in top_level[package] if inner.startswith(f"{package}."))
    done: set[str] = set()
    while len(done) < len(top_level):
        ready = {name for name, known in top_level.items() if name not in done and known <= done}
        assert ready, f"these modules import each other: {sorted(set(top_level) - done)}"
        done |= ready


def test_a_class_name_is_used_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(dotted(path))
    assert {name: several for name, several in places.items() if len(several) > 1} == {}


def private_names(path: Path) -> Iterator[str]:
    """Private attributes of other objects, and private names imported from other modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls") and node.attr not in ALLOWED:
                yield f"{ast.unparse(node.value)}.{node.attr}"


ALLOWED = {"_asdict", "_fields", "_field_defaults", "_make", "_replace"}  # of every NamedTuple


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_nothing_uses_private_names_of_the_package(folder: str) -> None:
    found = {str(path.relative_to(ROOT)): list(private_names(path)) for path in modules(ROOT / folder)}
    assert {path: names for path, names in found.items() if names} == {}


BY_MODE = {"engine.linked_environment", "engine.play", "ranker.learner"}  # they run compiled or not as the caller says


def compiled_functions() -> Iterator[str]:
    """Functions with machine code that plain mode runs, too: marked by `compiled`, and not called by `by_mode`."""
    for path in modules():
        module = dotted(path).removeprefix("toplist.")
        if module.startswith("core.compiling") or module in BY_MODE:
            continue
        tree = ast.parse(path.read_text())
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        by_mode = {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "by_mode"}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and "compiled" in map(ast.unparse, node.decorator_list):
                yield f"{module}.{node.name}"
            match node:
                case ast.Assign(targets=[ast.Name(id=made)], value=ast.Call(ast.Name("compiled"), [ast.Name(name)])):
                    if made not in by_mode:
                        yield f"{module}.{name}"


def test_the_document_names_what_stays_compiled_in_plain_mode() -> None:
    section = DOCUMENT.split("### What stays compiled in plain mode\n", 1)[1].split("\n#", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "functions of" not in line]
    named = [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    assert sorted(named) == sorted(compiled_functions())

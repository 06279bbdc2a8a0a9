"""Compiled code: the cache is never stale, survives removed classes, and allocation is refused."""

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import toplist
from toplist import Policy
from toplist.clicks import Cascade
from toplist.core import protocols
from toplist.core.compiling import (
    DoesNotCompile,
    compiled,
    direct,
    fingerprint,
    helper,
    numba_private,
    plain,
    reserved_names,
    routine,
)
from toplist.core.compiling.type_key import type_key
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Page, Slate, empty_page
from toplist.parts.feedback import ThroughLastClick
from toplist.parts.index import UCB1
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.index.select import insert_if_better
from toplist.parts.memory import Everything
from toplist.worlds import Fixed

PART = """
from typing import NamedTuple
import numpy as np
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, mark_examined
import helpers
from constants import MORE
from helpers import examined_places

class Half(NamedTuple):
    weight: float = 1.0
    def prepare(self, problem):
        return self
    def read(self, page, size):
        mark_examined(page, size, examined_places(size) + MORE + helpers.EVEN_MORE, 0, self.weight)
"""
LOOP = """
import toplist.core.protocols
from toplist.core.compiling import compiled

@compiled
def examined(reading, page):
    reading.read(page, 4)
    return page.weight.sum()
"""
HELPERS = """
from toplist.core.compiling import helper
EVEN_MORE = 0

@helper
def examined_places(size):
    return 1
"""
PROGRAM = """
{definition}
from loop import examined
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
print(examined(Half(), empty_page(4)), sum(examined.stats.cache_hits.values()))
"""


def run(folder: Path, program: str) -> tuple[float, int]:
    """Total weight examined, and the number of compiled functions from the disk cache, in a process of its own."""
    (folder / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=True)
    examined, hits = done.stdout.split()
    return float(examined), int(hits)


def run_here(program: str, capsys: pytest.CaptureFixture[str]) -> tuple[float, int]:
    """The same in this process, with the files as they are now."""
    for name in ("constants", "helpers", "loop", "parts"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    exec(program, {"__name__": "program"})
    examined, hits = capsys.readouterr().out.split()
    return float(examined), int(hits)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with modules to edit and a cache of its own."""
    (tmp_path / "constants.py").write_text("MORE = 0\n")
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "parts.py").write_text(PART)
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two edits within a second would look alike
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # to other processes as well
    yield tmp_path
    for name in ("constants", "helpers", "loop", "parts"):
        sys.modules.pop(name, None)


def test_editing_a_part_or_its_helper_is_noticed(edited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported = PROGRAM.format(definition="from parts import Half")
    assert run(edited, imported) == (1, 0)
    assert run(edited, imported) == (1, 1)  # unchanged: from the disk, in another process
    assert run_here(imported, capsys) == (1, 1)  # and in this one
    (edited / "helpers.py").write_text(HELPERS.replace("return 1", "return 2"))
    assert run_here(imported, capsys) == (2, 0)  # a helper in another module was edited
    (edited / "constants.py").write_text("MORE = 1\n")
    assert run_here(imported, capsys) == (3, 0)  # a constant that the part imports was edited
    (edited / "constants.py").write_text("MORE = 0\n")
    (edited / "helpers.py").write_text(HELPERS.replace("return 1", "return 2").replace("= 0", "= 2"))
    assert run_here(imported, capsys) == (4, 0)  # a constant that it uses through a module was edited
    (edited / "helpers.py").write_text(HELPERS.replace("return 1", "return 0"))
    late = imported.replace(
        "from loop", "with open('helpers.py', 'a') as file: _ = file.write('EVEN_MORE = 1')\nfrom loop"
    )
    assert run_here(late, capsys) == (0, 0)  # edited after loading: the loaded code runs
    assert run_here(imported, capsys) == (1, 0)  # and is not cached as the edited code
    (edited / "helpers.py").write_text(HELPERS.replace("return 1", "return 2"))
    (edited / "parts.py").write_text(PART.replace("examined_places(size)", "3"))
    assert run_here(imported, capsys) == (3, 0)  # the part itself was edited
    (edited / "parts.py").write_text(PART)
    assert run_here(imported, capsys) == (2, 1)  # the part of before is still cached


def test_a_callee_is_cached_for_other_callers_and_an_edit_of_it_is_noticed(
    edited: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    unpack = numba_private.LinkingCache.unpack

    def counted(self: Any, content: Any, target_context: Any) -> Any:
        loaded.append(content[1].qualname)
        return unpack(self, content, target_context)

    monkeypatch.setattr(numba_private.LinkingCache, "unpack", counted)
    monkeypatch.setattr(numba_private, "WORTH_CACHING", 0.0)
    imported = PROGRAM.format(definition="from parts import Half")
    assert run_here(imported, capsys) == (1, 0)
    assert "Half.read" not in loaded
    (edited / "loop.py").write_text(LOOP.replace("page, 4", "page, 3"))
    assert run_here(imported, capsys) == (1, 0)  # another caller is compiled,
    assert loaded.count("Half.read") == 1  # but what it calls is not
    (edited / "helpers.py").write_text(HELPERS.replace("return 1", "return 2"))
    assert run_here(imported, capsys) == (2, 0)
    assert loaded.count("Half.read") == 1
    assert "examined_places" not in loaded
    (edited / "constants.py").write_text("MORE = 1\n")
    assert run_here(imported, capsys) == (3, 0)  # an edited callee is compiled,
    assert loaded.count("examined_places") == 1  # but what it calls itself is not
    for file in (edited / "cache").glob("*"):
        content = file.read_bytes()
        file.write_bytes(content[:300] + b"garbage" + content[307:])
    assert run_here(imported, capsys) == (3, 0)  # damaged: all is compiled again
    assert loaded.count("Half.read") == 1


def test_parts_of_main_are_not_cached_and_a_removed_class_and_damage_are_harmless(
    edited: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = PROGRAM.format(definition="from parts import Half")
    assert run_here(imported, capsys) == (1, 0)
    cached = list((edited / "cache").glob("examined-*"))
    (edited / "parts.py").unlink()
    local = PROGRAM.format(definition=PART.replace("examined_places(size)", "4"))
    assert run(edited, local) == (4, 0)
    assert list((edited / "cache").glob("examined-*")) == cached  # parts of __main__ are not cached
    (edited / "parts.py").write_text(PART)
    for file in cached:  # damaged machine code would end the process
        content = file.read_bytes()
        file.write_bytes(content[:300] + b"garbage" + content[307:])
    assert run(edited, imported) == (1, 0)  # a damaged cache costs a compilation, not the program
    assert run_here(imported, capsys) == (1, 1)  # and is repaired by it


def test_allocation_in_a_hot_function_is_a_compile_time_error() -> None:
    @helper
    def greedy(x: Floats) -> float:
        return float((x * 2.0).sum())

    @compiled
    def outer(x: Floats) -> float:
        return greedy(x)

    assert greedy(np.ones(3)) == 6.0  # plain Python may allocate
    with pytest.raises(numba.core.errors.NumbaError, match="NRT required"):
        outer(np.ones(3))


POLICIES = """
import numpy as np
from toplist.core.compiling import helper
from toplist.parts.feedback import ThroughLastClick
from toplist.parts.index import UCB1
from toplist.parts.memory import Everything
from toplist.policies import Policy

PARTS = (ThroughLastClick(), Everything(), UCB1())

@helper
def rest(x):
    return x[1:]

def unmarked(x):
    return x

class Mine(Policy):
    __slots__ = ()

    def rank(self, belief, cache, request, slate):  # lists of UCB1 would take seconds to compile
        slate.size[0] = request.positions
        for place in range(request.positions):
            slate.items[place] = request.candidates[place]

"""
HOT = {
    "tmp = np.zeros(3)": "it allocates; hot methods allocate nothing: make arrays in scratch\\(\\)",
    "belief.clock[0] += (slate.items * 2).sum()": "it allocates; hot methods .*",
    "slate.items[:] = np.argsort(slate.items)": "it allocates; hot methods .*",
    "found = [1]": "it allocates; hot methods .*",
    "slate.items[0] = slate.itens[1]": "Unknown attribute 'itens' of type Slate",
    "slate.size[0] = lenn(slate.items)": "name 'lenn' is not defined",
    "slate.items[0] = rest(slate.items)[0]": "Only accept returning of array passed into the function as argument",
    "slate.items[0] = slate.items[0] + 'a'": "numba does not support add.*",
    "slate.items[0] = unmarked(slate.items[0])": (
        "unmarked is a plain function; mark it with @helper, as in: from toplist.core.compiling import helper"
    ),
    "self.memory.add(belief, 1)": "missing a required argument: 'weight'",
    "super().learn(belief, slate, page)": "Untyped global name 'super': .*",
}


# Both explain a line in the same way, but the engine compiles much besides it.
IN_THE_ENGINE = ("tmp = np.zeros(3)", "slate.items[0] = unmarked(slate.items[0])")


@pytest.mark.parametrize("line", HOT)
def test_a_compile_error_names_the_line(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """In a ranker, and once in the engine: the user's own line and numba's reason, not numba's long message."""
    name = f"hot_{list(HOT).index(line)}"
    method = f"    def learn(self, belief, slate, page):\n        x = 1\n        {line}\n"
    text = f"{POLICIES}{method}\nMINE = Mine(*PARTS)\n"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module(name).MINE
    request.addfinalizer(lambda: sys.modules.pop(name))
    number = text.splitlines().index(f"        {line}") + 1
    message = rf"^{name}\.py line {number}, \"{re.escape(line)}\", does not compile: {HOT[line]}\.$"
    if line in IN_THE_ENGINE:
        with pytest.raises(DoesNotCompile, match=message):
            toplist.simulate(mine, *toplist.worlds.b_lb(), steps=10, runs=1)
    ranker = toplist.Ranker(["a", "b", "c"], 2, mine)
    with pytest.raises(DoesNotCompile, match=message):
        ranker.learn(ranker.rank(), clicks=())


class AllocatingUsers(Cascade):
    __slots__ = ()

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return int(np.zeros(3).sum())


class AllocatingWorld(Fixed):
    __slots__ = ()

    def attract(self, moment: Any, items: Ints, attraction: Floats) -> None:
        attraction[:] = np.zeros(len(attraction))


class AllocatingMemory(Everything):
    __slots__ = ()

    def tick(self, belief: Any) -> None:
        belief.clock[0] += np.ones(3).sum()


class AllocatingReading(ThroughLastClick):
    __slots__ = ()

    def read(self, page: Page, size: int) -> None:
        page.weight[:size] = np.ones(size)


ALLOCATING: dict[str, tuple[dict[str, Any], str]] = {
    "users": ({"users": AllocatingUsers()}, "make arrays in prepare(), as fields of the part"),
    "world": ({"world": AllocatingWorld([0.5, 0.2], 1)}, "make arrays in begin(), as fields of the moment"),
    "memory": ({"memory": AllocatingMemory()}, "make arrays in begin(), as fields of the belief"),
    "reading": ({"reading": AllocatingReading()}, "make arrays in prepare(), as fields of the part"),
}


@pytest.mark.parametrize("kind", ALLOCATING)
def test_the_advice_to_a_part_that_allocates_fits_its_kind(kind: str) -> None:
    given, advice = ALLOCATING[kind]
    parts = {"users": Cascade(), "world": Fixed([0.5, 0.2], 1), "memory": Everything(), "reading": ThroughLastClick()}
    parts |= given
    policy = Policy(parts["reading"], parts["memory"], UCB1())
    with pytest.raises(DoesNotCompile, match=rf"hot methods allocate nothing: {re.escape(advice)}\.$"):
        toplist.simulate(policy, parts["world"], parts["users"], steps=10, runs=1)


def test_a_compile_error_without_a_line_names_the_class() -> None:
    class Opens(Policy):
        __slots__ = ()

        def learn(self, belief: Any, slate: Slate, page: Page) -> None:
            with open("file") as file:
                belief.clock[0] = len(file.read())

    mine = Opens(ThroughLastClick(), Everything(), UCB1())
    with pytest.raises(DoesNotCompile, match=r"^Opens does not compile: The 'with .*' construct is not supported\.$"):
        toplist.simulate(mine, *toplist.worlds.b_lb(), steps=10, runs=1)


def edited_policy(learns: bool) -> Any:
    class Edited(Policy):
        __slots__ = ()
        if not learns:

            def learn(self, belief: Any, slate: Slate, page: Page) -> None:
                pass

    return Edited(ThroughLastClick(), Everything(), UCB1()), Cascade()


def edited_users(backwards: bool) -> Any:
    class Edited(Cascade):
        __slots__ = ()
        if backwards:

            def click(
                self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page
            ) -> int:
                page.clicks[: len(items)] = 0
                page.clicks[len(items) - 1] = 1
                page.left[0] = len(items)
                return 1

    return "random", Edited()


@pytest.mark.parametrize("edited", [edited_policy, edited_users])
def test_a_class_that_was_edited_in_a_notebook_is_compiled_again(edited: Callable[[bool], Any]) -> None:
    """It has the name and the fields of the one before, which is all that numba looks at; or even the same source."""
    found = []
    for how in (True, True, False):
        policy, users = edited(how)
        machine_code, source = (
            toplist.simulate({"it": policy}, Fixed([0.1, 0.5, 0.2, 0.4], 2), users, 60, 2, compiled=compiled)
            for compiled in (True, False)
        )
        assert np.array_equal(machine_code.regret["it"], source.regret["it"])
        assert np.array_equal(machine_code.clicks["it"], source.clicks["it"])
        found.append(source.clicks["it"].sum())
    assert found[0] == found[1] != found[2]


def edited_reading(value: float) -> Any:
    class Edited(ThroughLastClick):
        __slots__ = ()

        def read(self, page: Page, size: int) -> None:
            page.value[:size] = value

    return Edited()


def test_an_edited_class_is_compiled_again_by_any_function() -> None:
    """The same for one method, which takes the fallback no time to compile."""

    @compiled
    def read(reading: Any, page: Page) -> None:
        reading.read(page, 2)

    for value in (1.0, 1.0, 2.0, 3.0):
        for call in (read, direct(read, edited_reading(value), empty_page(2))):
            page = empty_page(2)
            call(edited_reading(value), page)
            assert page.value.tolist() == [value, value]


def test_a_debugger_enters_a_helper_in_plain_mode() -> None:
    """It sees every line of the helpers of a list, such as the exact KL-UCB index and the selection."""
    lines: set[tuple[str, int]] = set()

    def trace(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_name, frame.f_lineno))
        return trace

    ranker = toplist.Ranker(["a", "b", "c"], 2, "cascade-kl-ucb", compiled=False)
    for _ in range(5):
        ranker.learn(ranker.rank(), clicks=[1])
    sys.settrace(trace)
    try:
        ranker.rank()
    finally:
        sys.settrace(None)
    for function in (kl_upper, insert_if_better, branch):
        first = function.__code__.co_firstlineno
        assert any(name == function.__name__ and line > first for name, line in lines), function.__name__


def test_plain_is_the_source_of_compiled() -> None:
    def double(x: float) -> float:
        return 2 * x

    assert helper(double) is double
    assert plain(compiled(double)) is double
    assert plain(double) is double


def test_fingerprint_covers_callees() -> None:
    def make(constant: float) -> Any:
        @helper
        def inner(x: float) -> float:
            return x + constant

        def outer(x: float) -> float:
            return inner(x)

        return outer

    assert fingerprint(make(1.0)) == fingerprint(make(1.0))
    assert fingerprint(make(1.0)) != fingerprint(make(2.0))
    assert fingerprint(Everything) != fingerprint(UCB1)


def test_fingerprint_distinguishes_similar_values() -> None:
    def constants(one: Any, other: Any) -> Any:
        return lambda: (one, other)

    def part(value: float) -> Any:
        class Inner(NamedTuple):
            x: float = 0.0

            def read(self) -> float:
                return self.x + value

        return Inner()

    different = [
        constants(1, 12),
        constants(11, 2),
        constants("1", 12),
        constants((1, 1), 2),
        constants((1,), (1, 2)),
        constants(np.arange(5.0), 0),
        constants(np.arange(5.0) + 1e-15, 0),
        constants((np.arange(5.0) + 1e-15,), 0),
        constants(part(1.0), 0),
        constants(part(2.0), 0),
        constants((part(1.0),), 0),
        constants((part(2.0),), 0),
        constants(numba.njit(plain), 0),
        constants(numba.njit(plain, fastmath=True), 0),
    ]
    assert len({fingerprint(function) for function in different}) == len(different)


def test_fingerprint_is_the_same_in_every_process() -> None:
    program = (
        "from toplist.core.compiling import fingerprint\n"
        "from toplist.policies.bandits import Policy, Ranked\n"
        "def words(x): return x in {'a', 'b', 'c', 'd', 'e'}\n"
        "print(fingerprint(Policy, Ranked, words))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_fingerprint_of_modules_that_import_each_other_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "knot").mkdir()
    (tmp_path / "knot" / "__init__.py").write_text("")
    (tmp_path / "knot" / "one.py").write_text(
        "import knot.two\ndef f():\n    return knot.two.g() + knot.one.h()\ndef h():\n    return 1\n"
    )
    (tmp_path / "knot" / "two.py").write_text("import knot.one\ndef g():\n    return knot.one.f() + knot.two.g()\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert fingerprint(importlib.import_module("knot.one").f)


def test_protocol_methods_are_reserved_names() -> None:
    assert protocols.HotPolicy.rank.__name__ in reserved_names()
    assert {"rank", "learn", "top", "click", "read"} <= reserved_names()
    assert "prepare" not in reserved_names()


@helper
def doubled(number: float) -> float:
    return 2.0 * number


@routine
def quadrupled(number: float) -> float:
    return doubled(doubled(number))


@compiled
def eight_times(number: float) -> float:
    return doubled(quadrupled(number))


def test_callees_run_as_source_from_python_and_as_machine_code_from_compiled_code() -> None:
    assert eight_times(1.5) == 12.0
    for function, expected in ((quadrupled, 6.0), (doubled, 3.0)):
        assert isinstance(function, FunctionType)
        assert function(1.5) == expected
    assert plain(eight_times)(2.0) == 16.0

    @compiled
    def sixteen_times(number: float) -> float:
        return doubled(eight_times(number))

    assert sixteen_times(1.5) == 24.0


@helper
def halved(number: float) -> float:
    return quadrupled(number) / 8.0


def test_only_helpers_are_inlined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a helper calls a routine; numba inlines whatever an inlined function calls."""
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path))  # else it is compiled only once

    @compiled
    def quarter(number: float) -> float:
        return halved(halved(number))

    assert quarter(1.0) == 0.25
    inlined = {(key[0], key[3]) for key in numba_private.compiled_callees}
    assert {(halved, True), (quadrupled, False)} <= inlined
    assert (quadrupled, True) not in inlined


def test_a_callee_that_raises_does_so_within_its_caller() -> None:
    @routine
    def inner(number: int) -> int:
        if number < 0:
            raise ValueError("below nothing")
        return number

    @compiled
    def outer(number: int) -> int:
        return inner(number) + 1

    assert outer(1) == 2
    with pytest.raises(ValueError, match="below nothing"):
        outer(-1)
    with pytest.raises(ValueError, match="below nothing"):
        inner(-1)


class _Pair(NamedTuple):
    first: Any
    second: Any


class _OtherPair(NamedTuple):
    first: Any
    second: Any


def test_values_with_equal_keys_have_equal_types() -> None:
    rows = np.zeros((4, 3))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    values: list[Any] = [
        1, -(1 << 63), (1 << 63) - 1, 1.0, True, None, "a", np.float64(2.0), np.int64(2), np.bool_(True), rows, rows.T,
        rows[:, 1], rows[::2], frozen, np.zeros(3), np.zeros(0), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=bool),
        np.zeros((1, 1)), (), (1,), (2, 3), (2, 3.0), _Pair(1, 2.0), _OtherPair(1, 2.0), _Pair(1, 2), _Pair(rows, (1,)),
        _Pair(rows[0], (1,)), np.zeros(3, dtype=np.float32),
    ]  # fmt: skip
    for one, other in product(values, repeat=2):
        if type_key(one) == type_key(other):
            types = [numba.typeof(value) for value in (one, other)]  # type: ignore[no-untyped-call]
            assert types[0] == types[1], (one, other)
    assert type_key(rows, 1) == type_key(np.ones((2, 9)), 7)
    assert type_key(1 << 63) is None  # beyond the machine's integers, as the compiler sees them
    assert type_key([1]) is None
    assert type_key(_Pair(1, object())) is None


def test_direct_finds_the_machine_code_of_the_right_types() -> None:
    double = compiled(_double)
    assert direct(double, 2.0)(1.5) == 3.0
    assert direct(double, 2)(3) == 6
    assert direct(double, 4.0)(0.25) == 0.5
    assert len(double.overloads) == 2  # type: ignore[attr-defined]


def _double(number: Any) -> Any:
    return number * 2

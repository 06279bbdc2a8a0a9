"""A ranker whose keeper has a log of its lists: it takes them up again from there, and becomes bytes and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import named_arrays
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import Floats, Slate, empty_page
from toplist.policies.by_name import make
from toplist.ranker import saved_file
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.item_slots import Roster, RosterState
from toplist.ranker.open_lists import Book, BookState
from toplist.ranker.options import Options
from toplist.ranker.ranker import Asked, Ranker
from toplist.ranker.read_write_lock import OpenGate
from toplist.ranker.shown import Identity, Shown

FORMAT = b"toplist1"
NO_LIMIT = 1 << 62


class Record(NamedTuple):
    """What a log must hold of a list beside its items, so that it can be learned at any later time."""

    number: int
    slots: tuple[int, ...]
    rows: bytes  # of features, as scored; float64 in order of places
    memo: bytes  # of the policy
    learned_before: int
    pinned: tuple[int, ...] = ()


class State(NamedTuple):
    """Everything that a ranker has learned, and its open lists."""

    header: dict[str, Any]  # as JSON can hold it
    arrays: dict[str, Any]

    def packed(self) -> bytes:
        """All of it, compressed; equal for equals."""
        shapes = [(name, str(array.dtype), array.shape) for name, array in self.arrays.items()]
        text = json.dumps(self.header | {"arrays": shapes}, separators=(",", ":")).encode()
        press = zlib.compressobj(1)
        parts = [FORMAT, press.compress(len(text).to_bytes(4, "little") + text)]
        parts += [press.compress(array.tobytes()) for array in self.arrays.values()]
        return b"".join([*parts, press.flush()])

    @classmethod
    def unpacked(cls, packed: bytes) -> State:
        """What was packed."""
        content = memoryview(zlib.decompress(packed[len(FORMAT) :]))
        length = 4 + int.from_bytes(content[:4], "little")
        header = json.loads(bytes(content[4:length]))
        arrays: dict[str, Any] = {}
        for name, dtype, shape in header.pop("arrays"):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            arrays[name] = np.frombuffer(content[length : length + size], dtype).reshape(shape).copy()
            length += size
        if length != len(content):
            raise ValueError("its length is another")
        return cls(header, arrays)


class LoggedRanker(Ranker):
    """A ranker without a secret: lists carry no seal, and whoever keeps the log answers for what it says.

    Its state is a function of what was done to it, to the last bit: made, learned, dropped, added and removed in the
    same order, two of them have equal bytes. Any number of lists may be open, since the keeper closes them. One thread
    has it to itself, so that one slate and one page do for all its lists.

    >>> ranker = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> again = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> items, record = ranker.make()
    >>> ranker.settle(record, clicks=[1])
    >>> again.reopen(record.number)
    >>> again.settle(record, clicks=[1])
    >>> again.to_bytes() == ranker.to_bytes()
    True
    """

    _gate_class = OpenGate
    _warns = False  # the keeper's own log is no place for it

    def _set_up(self, *given: Any) -> None:
        super()._set_up(*given)
        self._slate, self._page = self._learner.slate(), empty_page(self.positions)
        self._plain: dict[int | None, Asked] = {}  # what was asked for with nothing but positions
        # Most policies keep neither rows nor a memo, and what is empty takes as long to copy as what is not.
        self._kept = self._slate.rows.size + self._slate.memo.size > 0

    def make(
        self,
        among: Iterable[str] | None = None,
        positions: int | None = None,
        *,
        exclude: Iterable[str] | None = None,
        pins: Mapping[int, str] | None = None,
        person: Any = None,
        features: Mapping[str, Any] | None = None,
    ) -> tuple[list[str], Record]:
        """A list as `rank` makes it, and what the log must hold of it."""
        plain = among is None and exclude is None and pins is None and person is None and features is None
        asked = self._plain.get(positions) if plain else None
        if asked is None:
            asked = self._asked(among, positions, exclude, pins, person, features)
            if plain:
                self._plain[positions] = asked
        slate, rows, memo = self._slate, b"", b""
        slate.size[0] = 0
        if self._kept:
            slate.rows.fill(0.0)
            slate.memo.fill(0.0)
        made = self._make(asked, slate)
        size = int(slate.size[0])
        slots = slate.items[:size].tolist()
        if self._kept and size:  # a policy may use all of the memo, whatever the length of the list
            rows, memo = slate.rows[:size].tobytes(), slate.memo.tobytes()
        return self._named(slots), Record(made.number, tuple(slots), rows, memo, self._learned, made.pinned)

    def settle(
        self,
        record: Record,
        clicks: Iterable[int],
        left: int | None = None,
        seen: Mapping[int, float] | None = None,
    ) -> None:
        """Learn from what came back for an open list that `make` made; all in positions, counted from 1."""
        page = self._page
        for array in (page.clicks, page.weight, page.value):
            array.fill(0)
        for position in clicks:
            page.clicks[position - 1] = 1
        page.left[0] = left or 0
        if seen is None:
            page.seen.fill(-1.0)
        else:
            page.seen.fill(0.0)
            for position, chance in seen.items():
                page.seen[position - 1] = chance
        self._take_in(record.number, self._recorded(record, self._slate), page)

    def recall(self, items: Sequence[str], record: Record) -> Shown:
        """A list that the log has, made by this ranker or by one that this is a copy of."""
        slate = self._recorded(record, self._learner.slate())
        life = self._book.enter_again(record.number)
        return Shown(
            self._identity, record.number, life, tuple(items), slate, record.learned_before, pinned=record.pinned
        )

    def _recorded(self, record: Record, slate: Slate) -> Slate:
        """A slate, filled as it was when the list was made."""
        slots, size = record.slots, len(record.slots)
        arrays: tuple[tuple[Floats, bytes], ...] = ()
        if self._kept and size:
            arrays = (slate.rows[:size], record.rows), (slate.memo, record.memo)
            fits = all(array.nbytes == len(kept) for array, kept in arrays)
        else:
            fits = not record.rows and not record.memo
        # Compiled code does not look whether there are such slots before it writes to them.
        if not fits or size > self.positions or (size and not 0 <= min(slots) <= max(slots) < self._roster.capacity):
            raise InvalidInput(f"List {record.number} of the log is not one of {self.name}'s; check the log.")
        slate.size[0] = size
        slate.items[:size] = slots
        for array, kept in arrays:
            if kept:
                array[...] = np.frombuffer(kept).reshape(array.shape)
        return slate

    @property
    def room(self) -> int:
        """About how many bytes it takes in memory."""
        arrays = [self._known.rows, *self._learner.belief]
        return 2 * sum(int(array.nbytes) for array in arrays) + 200 * self._roster.capacity

    def take_over(
        self, items: Sequence[str], number: int, person: Any = None, features: Mapping[str, Any] | None = None
    ) -> Shown:
        """A list that the log has, made by another policy: adopted, under its number."""
        return self._adopted(items, person, features, number)

    def reopen(self, number: int) -> None:
        """A list is open that the log has, and will be recalled when its clicks are known."""
        self._book.enter_again(number)

    def drop(self, number: int) -> None:
        """A list was never shown, so nothing can be learned from it."""
        self._book.close(number)

    def state(self) -> State:
        """Everything that was ever learned or is open, which stays as it is when the ranker goes on."""
        own = self._state()
        return own._replace(arrays={name: array.copy() for name, array in own.arrays.items()})

    def _state(self) -> State:
        """The same with the ranker's own arrays."""
        with self._gate.reading:
            roster, book, known = self._roster.state(), self._book.state(), self._known
            arrays = {
                "examined": roster.examined,
                "features": known.rows,
                "opened": np.array(book.opened, dtype=np.int64),
            } | named_arrays("belief", self._learner.belief)
            header = {
                "options": list(self.options),
                "problem": list(self._learner.begun),
                "names": roster.names,
                "left": roster.left,
                "used": roster.used,
                "hidden": roster.hidden,
                "made": book.made,
                "learned": self._learned,
                "changes": list(self._changes.rows),
                "noted": self._changes.noted,
                "person": [known.person, known.join, known.degrees, known.scale],
            }
            return State(header, arrays)

    def to_bytes(self) -> bytes:
        """Its state, compressed; equal for equals."""
        return self._state().packed()

    @classmethod
    def of(cls, state: State, policy: Any, name: str, *, compiled: bool = True) -> Self:
        """The ranker whose state this was, to go on as if there had been no break, with the same policy."""
        ranker = cls.__new__(cls)
        ranker._take_up(*state, policy, name, compiled)
        return ranker

    @classmethod
    def from_bytes(cls, kept: bytes, policy: Any, name: str, *, compiled: bool = True) -> Self:
        """The ranker whose `to_bytes` these are, likewise."""
        if kept[: len(FORMAT)] != FORMAT:
            raise InvalidInput(f"The state of {name} is not one of to_bytes(), or is damaged; take an older copy.")
        try:
            return cls.of(State.unpacked(kept), policy, name, compiled=compiled)
        except (zlib.error, ValueError, KeyError, TypeError, IndexError) as problem:
            if isinstance(problem, InvalidInput):
                raise
            raise InvalidInput(f"The state of {name} is damaged: {problem!r}; take an older copy.") from problem

    def _take_up(self, header: dict[str, Any], arrays: dict[str, Any], policy: Any, name: str, compiled: bool) -> None:
        person, join, degrees, scale = header["person"]
        known = Features(len(header["names"]), arrays["features"].shape[1], person, join, degrees)
        known.rows, known.scale = arrays["features"], scale
        title = policy if isinstance(policy, str) else "its own policy"
        options, problem = Options(*header["options"]), Problem(*header["problem"])
        self._set_up(make(policy), title, options, problem, Identity(name, "00" * 16), known, compiled)
        names = tuple(header["names"])
        if len(names) > problem.items:
            self._enlarge(len(names))
        belief = {key.removeprefix("belief."): array for key, array in arrays.items() if key.startswith("belief.")}
        saved_file.restore(self._learner.belief, belief, name)
        left = tuple((slot, made) for slot, made in header["left"])
        hidden = tuple(header["hidden"])
        self._roster = Roster.of(RosterState(names, left, arrays["examined"], header["used"], hidden))
        opened = tuple(arrays["opened"].tolist())
        self._book = Book.of(options.open_slates, BookState(header["made"], opened, (), ((0, "log"),)))
        self._learned = header["learned"]
        self._changes = ChangeLog(header["changes"], header["noted"])

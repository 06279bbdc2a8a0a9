"""A ranker whose keeper has a log of its lists: it takes them up again from there, and becomes bytes and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.beliefs import named_arrays
from toplist.policies.entries import make
from toplist.problem import InvalidInput, Problem
from toplist.ranker import saved
from toplist.ranker.book import Book, BookState
from toplist.ranker.changes import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.options import Options
from toplist.ranker.ranker import Ranker
from toplist.ranker.roster import Roster, RosterState
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


class LoggedRanker(Ranker):
    """A ranker without a secret: lists carry no seal, and whoever keeps the log answers for what it says.

    Its state is a function of what was done to it, to the last bit: made, learned, dropped, added and removed in the
    same order, two of them have equal bytes. Any number of lists may be open, since the keeper closes them.

    >>> ranker = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> again = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> shown = ranker.rank()
    >>> ranker.learn(shown, clicks=[1])
    >>> again.learn(again.recall(shown.items, ranker.record(shown)), clicks=[1])
    >>> again.to_bytes() == ranker.to_bytes()
    True
    """

    def record(self, shown: Shown) -> Record:
        """What the log must hold of a list."""
        slate, size = shown._slate, len(shown.items)
        return Record(
            shown.number,
            tuple(slate.items[:size].tolist()),
            slate.rows[:size].tobytes(),
            slate.memo.tobytes() if size else b"",  # a policy may use all of it, whatever the length of the list
            shown.learned_before,
            shown.pinned,
        )

    @property
    def room(self) -> int:
        """About how many bytes it takes in memory."""
        arrays = [self._known.rows, *self._learner.belief]
        return 2 * sum(int(array.nbytes) for array in arrays) + 200 * self._roster.capacity

    def recall(self, items: Sequence[str], record: Record) -> Shown:
        """A list that the log has, made by this ranker or by one that this is a copy of."""
        slate, size = self._learner.slate(), len(items)
        slate.items[:size] = record.slots
        slate.size[0] = size
        for array, kept in ((slate.rows[:size], record.rows), (slate.memo, record.memo)):
            if kept:
                array[...] = np.frombuffer(kept).reshape(array.shape)
        life = self._book.enter_again(record.number)
        return Shown(
            self._identity, record.number, life, tuple(items), slate, record.learned_before, pinned=record.pinned
        )

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

    def to_bytes(self) -> bytes:
        """Everything that was ever learned or is open, compressed; equal for equals."""
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
                "arrays": [(name, str(array.dtype), array.shape) for name, array in arrays.items()],
            }
            text = json.dumps(header, separators=(",", ":")).encode()
            press = zlib.compressobj(1)
            parts = [FORMAT, press.compress(len(text).to_bytes(4, "little") + text)]
            parts += [press.compress(array.tobytes()) for array in arrays.values()]
            return b"".join([*parts, press.flush()])

    @classmethod
    def from_bytes(cls, kept: bytes, policy: Any, name: str, *, compiled: bool = True) -> Self:
        """The ranker that `to_bytes` wrote, to go on as if there had been no break, with the same policy."""
        if kept[: len(FORMAT)] != FORMAT:
            raise InvalidInput(f"The state of {name} is not one of to_bytes(), or is damaged; take an older copy.")
        try:
            content = memoryview(zlib.decompress(kept[len(FORMAT) :]))
            ranker = cls.__new__(cls)
            ranker._take_up(*_unpacked(content), policy, name, compiled)
        except (zlib.error, ValueError, KeyError, TypeError, IndexError) as problem:
            if isinstance(problem, InvalidInput):
                raise
            raise InvalidInput(f"The state of {name} is damaged: {problem!r}; take an older copy.") from problem
        return ranker

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
        saved.restore(self._learner.belief, belief, name)
        left = tuple((slot, made) for slot, made in header["left"])
        hidden = tuple(header["hidden"])
        self._roster = Roster.of(RosterState(names, left, arrays["examined"], header["used"], hidden))
        opened = tuple(arrays["opened"].tolist())
        self._book = Book.of(options.open_slates, BookState(header["made"], opened, (), ((0, "log"),)))
        self._learned = header["learned"]
        self._changes = ChangeLog(header["changes"], header["noted"])


def _unpacked(content: memoryview) -> tuple[dict[str, Any], dict[str, Any]]:
    length = 4 + int.from_bytes(content[:4], "little")
    header = json.loads(bytes(content[4:length]))
    arrays: dict[str, Any] = {}
    for name, dtype, shape in header["arrays"]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(content[length : length + size], dtype).reshape(shape).copy()
        length += size
    if length != len(content):
        raise ValueError("its length is another")
    return header, arrays

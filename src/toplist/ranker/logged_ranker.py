"""A ranker for callers that log its lists: lists are reopened from the log, and its state is bytes."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from toplist.core.beliefs import named_arrays
from toplist.core.item_id import ItemId
from toplist.core.prior import Prior
from toplist.core.problem import InvalidInput, Problem
from toplist.policies.by_name import make
from toplist.ranker import saved_file
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.estimate_rows import EstimateRows
from toplist.ranker.explanations import estimate_rows
from toplist.ranker.features import Features
from toplist.ranker.item_slots import ItemSlots, ItemSlotsState
from toplist.ranker.learned_state import LearnedState, fill_belief, shape_of
from toplist.ranker.logged_lists import LoggedListRanker
from toplist.ranker.open_lists import OpenLists, OpenListsState
from toplist.ranker.options import Options
from toplist.ranker.own_sums import own_of
from toplist.ranker.shown import Identity
from toplist.ranker.size import BYTES_PER_LEARNER, BYTES_PER_OPEN_LIST, BYTES_PER_SLOT, used
from toplist.ranker.snapshot import FORMAT, State
from toplist.ranker.weights_pool import AnyPool

NO_LIMIT = 1 << 62  # for open_slates


class LoggedRanker(LoggedListRanker):
    """A ranker whose caller logs its lists; used by the service.

    Lists are not signed: the caller is responsible for its log. The state depends only on the sequence of calls, to the
    last bit: two rankers that made, learned, dropped, added and removed the same in the same order have equal bytes.
    Any number of lists may be open (`open_slates=NO_LIMIT`), since the caller closes them. It is not thread-safe: one
    thread uses it, so that one slate and one page serve all lists.

    The parameters are those of `Ranker`.

    See Also
    --------
    Ranker

    Examples
    --------
    >>> ranker = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> again = LoggedRanker(["a", "b", "c"], positions=2, policy="cascade-ucb1", seed=1, open_slates=NO_LIMIT)
    >>> items, record = ranker.make()
    >>> ranker.settle(record, clicks=[1])
    >>> again.reopen(record.number)
    >>> again.settle(record, clicks=[1])
    >>> again.to_bytes() == ranker.to_bytes()
    True
    """

    @property
    def room(self) -> int:
        """Approximate size in memory, in bytes; it grows with the first list, with items and with open lists."""
        learner = self._learner
        arrays = used((learner.belief, learner.caches, self._features.rows, self._slate))
        if self._own is not None:
            arrays += used(tuple(self._own.arrays().values()))
        slots, opened = BYTES_PER_SLOT * self._items.capacity, BYTES_PER_OPEN_LIST * len(self._open_lists)
        return arrays + slots + opened + BYTES_PER_LEARNER

    def begin_pooled(self, pool: AnyPool, strength: float, known: Mapping[ItemId, Prior]) -> None:
        """Begin with what other rankers know; only before the first list.

        Parameters
        ----------
        pool : Pool or WeightsPool
            What they know. Priors of items count up to 10,000 looks, and less for items that are thought bad.
        strength : float
            How alike the rankers are, in looks.
        known : mapping of str or int to Prior
            The priors that items have apart from that.
        """
        self._begin_pooled(pool, strength, known)

    def warm_up(self) -> None:
        """Make what the first list needs besides the belief, so that it takes no longer than others."""
        self._learner.warm_up()

    def compile_priors(self) -> None:
        """Compile what sets the priors of many items, so that no later ranker of this policy has to."""
        if self._capabilities.samples != "nothing":
            self._learner.compile_samples()

    def keep_own_counts(self) -> None:
        """Count from now on what is learned itself, without priors; it is a part of the state."""
        self._keep_own_counts()

    def add_to_pool(self, pool: AnyPool, is_segment: bool) -> None:
        """Add what was learned since `keep_own_counts` to a pool.

        Parameters
        ----------
        pool : Pool or WeightsPool
            Sums over rankers.
        is_segment : bool
            Whether the ranker is that of one segment; else it tells of everybody.
        """
        self._add_to_pool(pool, is_segment)

    def estimate_rows(self, person: Any = None) -> EstimateRows:
        """Estimates as `estimates` gives them, of which a part can be read from the middle."""
        with self._lock.reading:
            return estimate_rows(self._items.all_names(), self._assessment(person))

    def is_hidden(self, item: ItemId) -> bool:
        """Whether an item is hidden from all lists; quicker than `hidden`, which names all of them.

        Parameters
        ----------
        item : str or int
            An item of the ranker.

        Returns
        -------
        bool

        Raises
        ------
        InvalidInput
            If the item is unknown.
        """
        return self._items.is_hidden(self._items.slot(item))

    def begin_from(self, state: LearnedState) -> None:
        """Begin with what another ranker of the same policy has learned about the first items, before any list.

        Parameters
        ----------
        state : LearnedState
            What it has learned; its items must be the first ones of this ranker, in their order.

        Raises
        ------
        InvalidInput
            If the two do not fit; nothing is changed.
        """
        own = shape_of(self.policy, self.positions, self.options.steps, self._features.total)
        for name, value in own.items():
            if state.header[name] != value:
                raise InvalidInput(
                    f"The ranker learned with {name} {state.header[name]!r}, but {self.name} has {value!r}; train one "
                    f"with the same."
                )
        names = state.names
        if self._learned or names != self._items.names[: len(names)] or len(names) > self._items.used:
            raise InvalidInput(
                f"The items of the ranker are not the first ones of {self.name}, in the same order, before any list; "
                f"begin with no items, or with these."
            )
        rows = state.arrays["features"]
        if not np.allclose(rows, self._features.rows[: len(rows)], rtol=1e-9, atol=1e-12):
            raise InvalidInput(
                f"The ranker learned with other features of its items than {self.name} has; use the same."
            )
        fill_belief(self._learner.belief, state)
        self._items.examined[state.arrays["examined"]] = True
        self._learned = state.learned
        self._change_log = ChangeLog(state.header["changes"], state.header["noted"])

    def state(self) -> State:
        """Take a snapshot, which later changes of the ranker leave as it is.

        Returns
        -------
        State
            Everything learned, and the open lists.
        """
        own = self._shared_state()
        return own._replace(arrays={name: array.copy() for name, array in own.arrays.items()})

    def _shared_state(self) -> State:
        """A snapshot that shares its arrays with the ranker."""
        with self._lock.reading:
            items, lists, features = self._items.state(), self._open_lists.state(), self._features
            arrays = {
                "examined": items.examined,
                "features": features.rows,
                "opened": np.array(lists.opened, dtype=np.int64),
            } | named_arrays("belief", self._learner.belief)
            if self._own is not None:
                arrays |= self._own.arrays()
            header = {
                "options": list(self.options),
                "problem": list(self._learner.initial_problem[:4]),  # without `grows`
                "names": items.names,
                "left": items.freed,
                "used": items.used,
                "hidden": items.hidden,
                "made": lists.made,
                "learned": self._learned,
                "changes": list(self._change_log.rows),
                "noted": self._change_log.total,
                "person": [features.person, features.join, features.degrees, features.scale],
            }
            return State(header, arrays)

    def to_bytes(self) -> bytes:
        """Compress the state; rankers in equal states give equal bytes.

        Returns
        -------
        bytes
            For `from_bytes`.
        """
        return self._shared_state().packed()

    @classmethod
    def of(cls, state: State, policy: Any, name: str, *, compiled: bool = True) -> Self:
        """Restore the ranker of a snapshot, which continues where it was taken.

        Parameters
        ----------
        state : State
            The snapshot.
        policy : str or Policy
            The same policy.
        name : str
            Name of the ranker.
        compiled : bool, default True
            As in `Ranker`.

        Returns
        -------
        LoggedRanker
            It makes the same lists as the original would have.

        Raises
        ------
        InvalidInput
            If the snapshot is not one of this policy.
        """
        ranker = cls.__new__(cls)
        ranker._restore(*state, policy, name, compiled)
        return ranker

    @classmethod
    def from_bytes(cls, kept: bytes, policy: Any, name: str, *, compiled: bool = True) -> Self:
        """Restore the ranker from the bytes of `to_bytes`.

        Parameters
        ----------
        kept : bytes
            The result of `to_bytes`.
        policy, name, compiled
            As in `of`.

        Returns
        -------
        LoggedRanker
            It makes the same lists as the original would have.

        Raises
        ------
        InvalidInput
            If the bytes are damaged, or are not of this policy.
        """
        if kept[: len(FORMAT)] != FORMAT:
            raise InvalidInput(f"The state of {name} is damaged, or was not written by to_bytes(); use an older copy.")
        try:
            return cls.of(State.unpacked(kept), policy, name, compiled=compiled)
        except (zlib.error, ValueError, KeyError, TypeError, IndexError) as problem:
            if isinstance(problem, InvalidInput):
                raise
            raise InvalidInput(f"The state of {name} is damaged: {problem!r}; use an older copy.") from problem

    def _restore(self, header: dict[str, Any], arrays: dict[str, Any], policy: Any, name: str, compiled: bool) -> None:
        person, join, degrees, scale = header["person"]
        features = Features(0, arrays["features"].shape[1], person, join, degrees)
        features.rows, features.scale = arrays["features"].copy(), scale
        title = policy if isinstance(policy, str) else "its own policy"
        options, problem = Options(*header["options"]), Problem(*header["problem"])
        self._set_up(make(policy), title, options, problem, Identity(name, "00" * 16), features, compiled)
        # The learners of a ranking share the names of its items.
        names = tuple(sys.intern(name) if type(name) is str else name for name in header["names"])
        if len(names) > problem.items:
            self._grow(len(names))
        belief = {key.removeprefix("belief."): array for key, array in arrays.items() if key.startswith("belief.")}
        saved_file.restore(self._learner.belief, belief, name)
        freed = tuple((slot, made) for slot, made in header["left"])
        hidden = tuple(header["hidden"])
        self._items = ItemSlots.from_state(ItemSlotsState(names, freed, arrays["examined"], header["used"], hidden))
        opened = tuple(arrays["opened"].tolist())
        lists = OpenListsState(header["made"], opened, (), ((0, "log"),))
        self._open_lists = OpenLists.from_state(options.open_slates, lists)
        self._learned = header["learned"]
        self._own = own_of(arrays)
        self._change_log = ChangeLog(header["changes"], header["noted"])

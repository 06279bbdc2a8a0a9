"""The ranker: a policy at work on named items."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from toplist.core.beliefs import copy_arrays
from toplist.core.coverage import COVERAGE_KINDS, gains
from toplist.core.defaults import DEFAULT_POLICY
from toplist.core.item_id import ItemId
from toplist.core.problem import Problem, refuse, several
from toplist.core.slate import Page, Slate
from toplist.policies.by_name import make
from toplist.ranker import saved_file
from toplist.ranker.features import Features
from toplist.ranker.item_slots import ItemSlots, refuse_unused_values
from toplist.ranker.learn_log import LogLearningRanker
from toplist.ranker.options import Options
from toplist.ranker.priors import Priors, checked_priors
from toplist.ranker.reported_page import checked_page
from toplist.ranker.shown import Identity, Shown
from toplist.support.catalogue import part_text
from toplist.support.files import AnyPath


class Ranker(LogLearningRanker):
    """Ranks your items, and learns from the clicks on its lists.

    Any number of threads may use a ranker: lists are made in parallel, and changes one at a time, so that every list is
    made from a belief between two changes. A ranker lives in one process; others get a copy by `save` or `pickle`.

    Parameters
    ----------
    items : iterable of str or int
        Ids of the items, all different; there may be none at first. An id is text or a whole number of at most
        2**53 - 1 in size, and 7 and "7" are two items.
    positions : int
        Length of the longest list.
    policy : str or Policy, default "dcm-ts"
        Name in the catalogue, with or without parameters, as "cascade-ucb1(scale=2)", or a policy made of parts.
    seed : int, default 0
        Seed of all random choices.
    features : mapping or array_like, optional
        A row of numbers per item, for policies that learn from features: by item, or in the order of `items`; dense or
        sparse.
    person : int, default 0
        Number of features of a visitor, which every list then needs.
    join : {"concatenate", "outer"}, default "concatenate"
        How a visitor's features are joined with an item's: one after the other, or all products.
    steps : int, optional
        Expected number of lists (the horizon), for policies that need it.
    prior_mean : float, default 0.5
        Click-through rate that is assumed of a new item, if `prior_strength` is above 0.
    prior_strength : float, default 0.0
        Number of times that a new item counts as examined already. With 0, new items rank above all examined ones;
        Thompson sampling draws their score between 0 and 1.
    priors : mapping of str or int to Prior or (float, float), optional
        Mean and strength of the prior of single items, a warm start; the others have that of the ranker. Strengths
        count up to 100, and less for items that are thought bad: see `Prior`. For policies that learn from features,
        they become a prior of the weights, of the first items only.
    prior_weights : (array_like, float or array_like), optional
        For policies that learn from features: mean of the weights before the first list, and their precision, a number,
        one per feature, or a matrix. The features are those that the policy joins, in the units in which they are
        given.
    new_per_list : int, optional
        Largest number of never-examined items in a list, if there are enough others to fill it; no limit by default.
    open_slates : int, default 10000
        Largest number of lists that may wait for their clicks; one more gives up the oldest.
    name : str, optional
        Name of the ranker, which its lists carry; random by default.
    compiled : bool, default True
        Whether to compile the policy. Plain Python starts sooner, ranks slower, and gives the same lists.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the policy does not fit it.

    See Also
    --------
    toplist.catalogue : The names of all policies.
    toplist.simulate : The same policies on simulated users.

    Examples
    --------
    >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-kl-ucb", seed=1)
    >>> for _ in range(100):
    ...     shown = ranker.rank()
    ...     ranker.learn(shown, clicks=["milk"] if "milk" in shown.items else [])
    >>> ranker.rank().items[0]
    'milk'
    """

    def __init__(
        self,
        items: Iterable[ItemId],
        positions: int,
        policy: Any = DEFAULT_POLICY,
        seed: int = 0,
        *,
        features: Any = None,
        person: int = 0,
        join: str = "concatenate",
        steps: int | None = None,
        prior_mean: float = 0.5,
        prior_strength: float = 0.0,
        priors: Priors | None = None,
        prior_weights: Any = None,
        new_per_list: int | None = None,
        open_slates: int = 10_000,
        name: str | None = None,
        compiled: bool = True,
    ) -> None:
        names, labels = ItemSlots.checked_first(several("items", items, "names"))
        if name is not None and (not isinstance(name, str) or not name):
            raise refuse("The ranker's name", name, "text", "or leave it out")
        options = Options(positions, seed, steps, prior_mean, prior_strength, new_per_list, open_slates).checked()
        known_priors = {} if priors is None else checked_priors(priors, names)
        made = make(policy)
        title = policy if isinstance(policy, str) else part_text(made)
        known, rows = Features.for_items(names, features, person, join, made.capabilities(), title, self._warns)
        refuse_unused_values(items, features)
        problem = Problem(max(1, len(names)), options.positions, known.total, options.steps)
        identity = Identity(name or secrets.token_hex(4), secrets.token_hex(16))
        self._set_up(made, title, options, problem, identity, known, compiled)
        if len(names) < options.positions and not self._capabilities.takes_subsets:
            self._refuse(f"needs items for all of its {options.positions} positions, not {len(names)}", "give more")
        self._items.fill(names, labels)
        for slot, row in enumerate(rows):
            self._features.put(slot, row)
        if prior_weights is not None:
            self._set_weights(prior_weights)
        if any(prior.strength > 0.0 for prior in known_priors.values()):
            self._check_takes_first_priors()
        self._set_first_priors(names, known_priors)

    # Lists ------------------------------------------------------------------------------------------------------------

    def rank(
        self,
        among: Iterable[ItemId] | None = None,
        positions: int | None = None,
        *,
        exclude: Iterable[ItemId] = (),
        pins: Mapping[int, ItemId] | None = None,
        person: Any = None,
        features: Mapping[ItemId, Any] | None = None,
        propensities: bool = False,
    ) -> Shown:
        """Make a list; does not change what was learned.

        Parameters
        ----------
        among : iterable of str or int, optional
            The eligible items; all by default. The list is shorter if fewer items are eligible.
        positions : int, optional
            Length of the list; that of the ranker by default.
        exclude : iterable of str or int, default ()
            Items that are not eligible.
        pins : mapping of int to str or int, optional
            Items by position, from 1; they need not be eligible. If the list ends above a pinned position, its item
            stands at the end.
        person : array_like of float, optional
            Features of the visitor; required if the ranker joins them with the items' features.
        features : mapping of str or int to array_like, optional
            Features of some items, for this list only.
        propensities : bool, default False
            Whether to compute how likely the policy showed this list: `Shown.propensities`. It takes longer, above all
            where there is no closed form, as for a random draw of a model over features.

        Returns
        -------
        Shown
            The items, best first; pass it to `learn` once its clicks are known.

        Raises
        ------
        InvalidInput
            If an argument names an unknown item or position, or the policy does not support it.

        Examples
        --------
        >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.rank(among=["tea"], pins={2: "milk"}).items
        ('tea', 'milk')
        >>> ranker.rank(propensities=True).propensities.conditional.round(3).tolist()
        [0.333, 0.5]
        """
        request = self._checked_request(among, positions, exclude, pins, person, features)
        with self._lock.reading:
            slate = self._learner.empty_slate()
            made = self._make_list(request, slate)
            items = tuple(self._names_of(slate.items[: slate.size[0]].tolist()))
            if made.among is not None:
                self._items.is_shared = True
            return Shown(
                self._identity, made.number, made.life, items, slate, self._learned, pinned=made.pinned,
                among=made.among, propensities=self._weigh(made, slate) if propensities and items else None,
            )  # fmt: skip

    def adopt(self, items: Sequence[ItemId], person: Any = None, features: Mapping[ItemId, Any] | None = None) -> Shown:
        """Take a list that the ranker did not make, to learn from it.

        Parameters
        ----------
        items : sequence of str or int
            The items shown, from the top.
        person, features
            As in `rank`.

        Returns
        -------
        Shown
            The list, to pass to `learn`.

        Raises
        ------
        InvalidInput
            If an item is unknown, the list is too long, or the policy learns only from its own lists.

        Examples
        --------
        >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.learn(ranker.adopt(["milk", "tea"]), clicks=["tea"])
        >>> ranker.learned
        1
        """
        return self._adopt(items, person, features)

    def _adopt(
        self, items: Sequence[ItemId], person: Any, features: Mapping[ItemId, Any] | None, number: int | None = None
    ) -> Shown:
        """The adopted list under a new number, or under the one of a log."""
        if not self._capabilities.learns_from_any_list:
            self._refuse("learns from its own lists only", "show a list of rank()")
        names = several("The adopted list", items, "items")
        if len(names) > self.positions:
            raise refuse("The adopted list", names, f"at most {self.positions} items, one per position", "cut it there")
        call = self._features.checked_call(person, features)
        with self._lock.reading:
            slots = self._items.slots(names, "the adopted list")
            seen_rows, _ = self._features.rows_for_call(call, self._items.slot)
            slate = self._learner.empty_slate()
            slate.items[: len(slots)] = slots
            slate.size[0] = len(slots)
            if self._capabilities.needs_features:
                rows = seen_rows[slots]
                covers = self._capabilities.covers_topics
                slate.rows[: len(slots)] = gains(rows, self._coverage_name()) if covers else rows
            lists = self._open_lists
            opened = lists.open_new() if number is None else (number, lists.open_logged(number))
            shown = tuple(self._names_of(slots))
            return Shown(self._identity, *opened, shown, slate, self._learned, origin="adopted")

    def shown(self, kept: Mapping[str, Any]) -> Shown:
        """Turn the dict of a list back into the list.

        Parameters
        ----------
        kept : dict
            The result of `Shown.as_dict`, unchanged.

        Returns
        -------
        Shown
            The list, to pass to `learn`.

        Raises
        ------
        ForeignSlate
            If another ranker made the list, or the dict was changed.
        """
        return Shown.from_dict(kept, self._identity, self._learner.empty_slate())

    def _coverage_name(self) -> str:
        """The name of the policy's coverage function."""
        return {number: word for word, number in COVERAGE_KINDS.items()}[self._learner.policy.arrangement.coverage]

    # Learning ---------------------------------------------------------------------------------------------------------

    def learn(
        self,
        shown: Shown,
        clicks: Iterable[int | str | Mapping[str, ItemId]],
        left: int | str | Mapping[str, ItemId] | None = None,
        seen: Iterable[int | str | Mapping[str, Any]] | Mapping[int | str, float] | None = None,
    ) -> None:
        """Learn from the clicks on a list; late and in any order, but once.

        Parameters
        ----------
        shown : Shown
            A list of `rank`, `adopt` or `shown`.
        clicks : iterable of int or str
            Clicked positions, from 1, or items; `()` for no click. If a number is a position and also an integer item
            at another position of the list, it is refused: write `{"position": 2}` or `{"item": 2}`, also in `left` and
            in a sequence `seen`.
        left : int or str, optional
            The last position examined, or its item, for policies that use it (reading `UntilSatisfied`); leave it out
            if unknown.
        seen : iterable of int or str, or mapping to float, optional
            The positions in view, or items, or the probability of each that it was in view, in a sequence as
            `{"item": 2, "probability": 0.5}`; leave it out if unknown.

        Raises
        ------
        AlreadyLearned
            If the list was learned before.
        TooManyOpen
            If the list was given up, because too many lists were open after it.
        ForeignSlate
            If another ranker, or another copy of this one, made the list.
        InvalidInput
            If a click, `left` or `seen` is not in the list; nothing is learned, and the list stays open.

        Examples
        --------
        >>> ranker = Ranker(["tea", "coffee", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.learn(ranker.rank(), clicks=[2])
        >>> ranker.learn(ranker.rank(), clicks=())
        >>> ranker.learned
        2
        """
        self._check_own(shown)
        page = checked_page(shown, clicks, left, seen, self.positions)
        with self._lock.writing:
            self._learn_page(shown.number, shown.slate, page)

    def _learn_page(self, number: int, slate: Slate, page: Page) -> None:
        """Close an open list, and learn its page."""
        self._open_lists.close_learned(number)
        self._learner.learn(slate, page, self._items.examined)
        self._learned += 1
        if self._own is not None:
            self._own.add(slate, page)
        if self._capabilities.detects:
            self._change_log.update(self._learner.policy, self._learner.belief, self._items.names)

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: AnyPath) -> None:
        """Save the ranker to a file, atomically: an older file is replaced only by a complete one.

        Parameters
        ----------
        path : str or path-like
            The file, in an existing folder. Only its owner may read it, since it holds the secret that signs lists.

        Raises
        ------
        InvalidInput
            If the file cannot be written there.

        See Also
        --------
        load
        """
        saved_file.write(path, *self._packed())

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The content of a saved file: plain values, and copies of all arrays."""
        with self._lock.reading:
            return saved_file.pack(saved_file.SavedRanker(
                self._identity, self.policy, self._title, self.options, self._learner.initial_problem,
                copy_arrays(self._learner.belief), self._items, self._open_lists, self._learned, self._features,
                self._change_log, self._own,
            ))  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as `save` and `load` do; a pickle, too, holds the secret that signs lists."""
        return _unpickled, (type(self), *self._packed(), self.policy, self._learner.compiled)

    @classmethod
    def load(cls, path: AnyPath, policy: Any = None, *, compiled: bool = True) -> Self:
        """Load a saved ranker, which continues where it was saved.

        Parameters
        ----------
        path : str or path-like
            A file that `save` wrote.
        policy : Policy, optional
            The saved policy; required if it has parts of your own, since a file never imports code.
        compiled : bool, default True
            As for a new ranker.

        Returns
        -------
        Ranker
            It makes the same lists as the saved one would have.

        Raises
        ------
        InvalidInput
            If the file is missing, damaged, of a newer format, or was saved with another policy.

        Examples
        --------
        >>> import tempfile
        >>> ranker = Ranker(["tea", "milk"], positions=1, policy="cascade-ucb1", compiled=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranker.save(f"{folder}/drinks.npz")
        ...     again = Ranker.load(f"{folder}/drinks.npz", compiled=False)
        >>> again.rank().items == ranker.rank().items
        True
        """
        return cls._of_saved(saved_file.read(path, policy), path, compiled)

    @classmethod
    def _of_saved(cls, state: saved_file.SavedRanker, path: AnyPath, compiled: bool) -> Self:
        """Restore a ranker; `path` names its origin in errors."""
        ranker = cls.__new__(cls)
        ranker._set_up(
            state.policy, state.title, state.options, state.problem, state.identity, state.features, compiled
        )
        capacity = state.items.capacity
        if capacity > state.problem.items and ranker._capabilities.adds_items:
            ranker._grow(capacity)
        saved_file.restore(ranker._learner.belief, state.belief, path)
        ranker._items, ranker._open_lists = state.items, state.open_lists
        ranker._learned, ranker._change_log, ranker._own = state.learned, state.changes, state.own
        return ranker


def _unpickled(
    cls: type[Ranker], header: dict[str, Any], arrays: dict[str, Any], policy: Any, compiled: bool
) -> Ranker:
    origin = "The pickled ranker"
    return cls._of_saved(saved_file.unpack(origin, header, arrays, policy), origin, compiled)

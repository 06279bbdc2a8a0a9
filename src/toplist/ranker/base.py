"""The state of a ranker, and the methods that only read it."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from toplist.core.beliefs import copy_arrays
from toplist.core.item_id import OwnId
from toplist.core.problem import InvalidInput, Problem, refuse
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.randomness import CHOICES, branch
from toplist.core.slate import NONE, Floats, Request
from toplist.ranker import explanations
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.item_slots import ItemSlots
from toplist.ranker.learner import Learner
from toplist.ranker.open_lists import ForeignSlate, OpenLists
from toplist.ranker.options import Options
from toplist.ranker.own_counts import OwnCounts
from toplist.ranker.own_sums import Own, OwnSums
from toplist.ranker.pool import Pool
from toplist.ranker.priors import adds_up
from toplist.ranker.read_write_lock import ReadWriteLock
from toplist.ranker.shown import Identity, Shown
from toplist.ranker.weights_pool import AnyPool, WeightsPool
from toplist.support.tables import Table, count_text


class RankerBase:
    """A learner, its items, its open lists, and the lock that guards them."""

    _lock_class: ClassVar[type[ReadWriteLock]] = ReadWriteLock
    _warns: ClassVar[bool] = True  # if features are scaled

    def _set_up(
        self, policy: Any, title: str, options: Options, problem: Problem, identity: Identity, features: Features,
        compiled: bool,
    ) -> None:  # fmt: skip
        """Set everything but the items."""
        self.policy = policy
        self.options = options
        self._title = title
        self._identity = identity
        self._learner = Learner(policy, problem, compiled)
        self._capabilities = self._learner.capabilities
        if self._capabilities.needs_simulator:
            self._refuse("needs the true best list, which only a simulation has", "use it in simulate()")
        if options.prior_strength > 0.0:
            self._check_takes_prior()
        if options.new_per_list is not None and not self._capabilities.takes_subsets:
            self._refuse("shows all of its items", "leave new_per_list out")
        self._items = ItemSlots(problem.items)
        self._open_lists = OpenLists(options.open_slates)
        self._no_pins = np.full(options.positions, -1, dtype=np.int64)
        self._learned = 0
        self._own: Own | None = None  # what was learned without priors, if somebody asks for it
        self._change_log = ChangeLog()
        self._lock = self._lock_class()
        self._features = features
        features.warns = features.warns and self._warns
        # A ranker makes the lists of the first run of a simulation with the same seed.
        self._key = branch(branch(branch(options.seed, 0), 0), CHOICES)

    def _refuse(self, what: str, advice: str) -> NoReturn:
        """Raise the error for something that the policy cannot do."""
        raise InvalidInput(f"The policy {self._title} {what}; {advice}.")

    def _check_takes_prior(self, given: str = "prior_strength") -> None:
        if self._capabilities.samples == "nothing":
            instead = "; of weights, it may take prior_weights" if self._capabilities.needs_features else ""
            self._refuse("takes no prior", f"leave {given} out{instead}")

    def _check_takes_first_priors(self) -> None:
        """Refuse priors of the first items; features of visitors say nothing without their items."""
        if not (self._capabilities.needs_features and adds_up(self.policy) and self._features.person == 0):
            self._check_takes_prior("priors")

    def _keep_own_counts(self) -> None:
        """Count from now on what is learned itself, without priors; it is a part of the state."""
        by_features = self._capabilities.needs_features
        self._own = OwnSums(self._features.total) if by_features else OwnCounts(self._items.capacity)

    def _add_to_pool(self, pool: AnyPool, is_segment: bool) -> None:
        """Add what was learned since `_keep_own_counts` to a pool; without a segment, it tells of everybody."""
        with self._lock.reading:
            if isinstance(self._own, OwnCounts) and isinstance(pool, Pool):
                pool.add(self._items.names, self._own, is_segment)
            elif isinstance(self._own, OwnSums) and isinstance(pool, WeightsPool):
                pool.add(self._own, self._features.divisors(), is_segment)

    def _check_own(self, shown: Any) -> None:
        """Refuse anything but a list of this ranker."""
        if not isinstance(shown, Shown):
            raise refuse("The list", shown, "a Shown of rank(), adopt() or shown()", "shown() takes JSON")
        if shown.ranker != self.name:
            raise ForeignSlate(
                f"List {shown.number} was made by the ranker {shown.ranker!r}, but this one is {self.name!r}; "
                f"learn it with the ranker that made it."
            )
        if shown._identity != self._identity:
            raise ForeignSlate(
                f"List {shown.number} was made by another ranker that is also called {self.name!r}; load that ranker "
                f"from its file, instead of making a new one."
            )
        self._open_lists.check_own(shown.number, shown.life)

    @property
    def positions(self) -> int:
        """The length of the longest list."""
        return self.options.positions

    @property
    def name(self) -> str:
        """The name of the ranker, which its lists carry."""
        return self._identity.name

    @property
    def items(self) -> list[OwnId]:
        """All items, including hidden ones."""
        with self._lock.reading:
            return self._items.all_names()

    @property
    def hidden(self) -> list[OwnId]:
        """The items that are hidden from all lists."""
        with self._lock.reading:
            return self._items.hidden_names()

    @property
    def learned(self) -> int:
        """The number of lists learned."""
        return self._learned

    @property
    def belief(self) -> Any:
        """A copy of what the policy has learned: a NamedTuple of arrays."""
        with self._lock.reading:
            return copy_arrays(self._learner.belief)

    @property
    def capabilities(self) -> Capabilities:
        """What the policy supports."""
        return self._capabilities

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __repr__(self) -> str:
        """A summary without the items."""
        sizes = ((len(self), "item"), (self.positions, "position"), (self._learned, "list"))
        size = ", ".join(count_text(count, word) for count, word in sizes)
        return f"<Ranker {self.name} with {self._title}: {size} learned>"

    def estimates(self, person: Any = None) -> Table:
        """Estimate every item.

        Parameters
        ----------
        person : array_like of float, optional
            Features of the visitor for whom to estimate; required if the ranker joins them with the items' features.

        Returns
        -------
        Table
            Per item, largest index first, or largest mean if the policy has no index: `examined`, how often it was
            examined; `mean`, its click-through rate as the policy reads clicks; `low` and `high`, a 95% confidence
            interval of the mean; and `index`, by which the policy ranks. None where the policy has no such number.

        Raises
        ------
        InvalidInput
            If `person` is missing, superfluous or of the wrong length.

        Notes
        -----
        The interval is Wilson's score interval, or 1.96 standard deviations around the mean for policies that learn
        from features.

        Examples
        --------
        >>> from toplist import Ranker
        >>> ranker = Ranker(["tea", "milk"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> for _ in range(10):
        ...     ranker.learn(ranker.adopt(["tea", "milk"]), clicks=["milk"])
        >>> ranker.estimates()["milk"]["mean"]
        1.0
        """
        with self._lock.reading:
            return explanations.estimates(self._items.all_names(), self._assessment(person), self._learned)

    def _assessment(self, person: Any) -> Assessment:
        """What the policy thinks of every item."""
        call = self._features.checked_call(person, None)
        rows, _ = self._features.rows_for_call(call, self._items.slot)
        with self._learner.mode():
            return explanations.assess(self._learner.policy, self._learner.belief, self._request_all(rows), None)

    def explain(self, shown: Shown) -> Table:
        """Explain why each item of a list stands at its position.

        Parameters
        ----------
        shown : Shown
            A list of this ranker, learned or not.

        Returns
        -------
        Table
            Per position: `item`, `examined`, `mean`, `bonus` (index minus mean), `index`, and `why` in words. The
            numbers are current ones, not those of the time when the list was made.

        Raises
        ------
        ForeignSlate
            If another ranker, or another copy of this one, made the list.
        """
        self._check_own(shown)
        with self._lock.reading, self._learner.mode():
            # Without the visitor's features, only the rows of the list's own items are known: the slate holds them.
            rows = self._features.rows
            if self._features.person > 0:
                rows = np.zeros((len(rows), self._features.total))
            request = self._request_all(rows)
            return explanations.reasons(
                shown, self._learner.policy, self._learner.belief, request, self._items, self._learned
            )

    def preferences(self) -> Table:
        """Show the learned weight of every feature.

        Returns
        -------
        Table
            Per feature: its number from 1, its `weight`, and the standard `deviation` of the weight.

        Raises
        ------
        InvalidInput
            If the policy does not learn from features.
        """
        if not self._capabilities.needs_features:
            self._refuse("learns about each item separately, not from features", "call estimates()")
        with self._lock.reading:
            return explanations.preferences(self._learner.policy, self._learner.belief, self._learned)

    def changes(self) -> Table:
        """Show the changes that the policy has detected.

        Returns
        -------
        Table
            Per change, the latest last: `list`, the number of lists learned by then; the `item`; and its mean until
            then. The last 1000 changes are kept.

        Raises
        ------
        InvalidInput
            If the policy does not detect changes.
        """
        if not self._capabilities.detects:
            self._refuse("does not look for changes", "use one with a Resetting memory, as cascade-kl-ucb-resetting")
        with self._lock.reading:
            return self._change_log.table()

    def _request_all(self, rows: Floats) -> Request:
        """A request with all items and these features, to assess them."""
        items = self._items
        return Request(items.occupied_slots(), self.positions, NONE, NONE, rows, 0, items.labels, 0)

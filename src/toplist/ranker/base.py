"""What a ranker is made of, and what can be seen of it."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from toplist.core.beliefs import copy_arrays
from toplist.core.problem import InvalidInput, Problem, refuse
from toplist.core.protocols import Capabilities
from toplist.core.randomness import CHOICES, branch
from toplist.core.slate import NONE, Floats, Request
from toplist.ranker import explanations
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.item_slots import Roster
from toplist.ranker.learner import Learner
from toplist.ranker.open_lists import Book, ForeignSlate
from toplist.ranker.options import Options
from toplist.ranker.read_write_lock import Gate
from toplist.ranker.shown import Identity, Shown
from toplist.support.tables import Table, count_text


class Core:
    """A policy at work, its items, the book of its lists, and who may come in while it changes."""

    _gate_class: ClassVar[type[Gate]] = Gate
    _warns: ClassVar[bool] = True  # that features are scaled

    def _set_up(
        self, policy: Any, title: str, options: Options, problem: Problem, identity: Identity, known: Features,
        compiled: bool,
    ) -> None:  # fmt: skip
        """Everything but the items."""
        self.policy = policy
        self.options = options
        self._title = title
        self._identity = identity
        self._learner = Learner(policy, problem, compiled)
        self._can = self._learner.can
        if self._can.needs_simulator:
            self._refuse("must be told the best list, which only a simulation knows", "use it in simulate()")
        if options.prior_strength > 0.0:
            self._need_samples()
        if options.new_per_list is not None and not self._can.takes_subsets:
            self._refuse("shows all of its items", "leave new_per_list out")
        self._roster = Roster(problem.items)
        self._book = Book(options.open_slates)
        self._learned = 0
        self._changes = ChangeLog()
        self._gate = self._gate_class()
        self._known = known
        known.warns = known.warns and self._warns
        # A ranker makes the lists of the first run of a simulation with the same seed.
        self._key = branch(branch(branch(options.seed, 0), 0), CHOICES)

    def _refuse(self, what: str, advice: str) -> NoReturn:
        """Say in one sentence what the policy cannot do."""
        raise InvalidInput(f"The policy {self._title} {what}; {advice}.")

    def _need_samples(self) -> None:
        if self._can.samples == "nothing":
            self._refuse("has no use for a prior", "leave prior_strength out")

    def _check_own(self, shown: Any) -> None:
        """Refuse what is no list, or no list of this ranker's."""
        if not isinstance(shown, Shown):
            raise refuse("The list", shown, "what rank(), adopt() or shown() gave", "see shown() for one kept as JSON")
        if shown.ranker != self.name:
            raise ForeignSlate(
                f"List {shown.number} was made by the ranker {shown.ranker!r}, but this one is {self.name!r}; "
                f"hand it to the ranker that made it."
            )
        if shown._identity != self._identity:
            raise ForeignSlate(
                f"List {shown.number} was made by another ranker that is called {self.name!r} too; load the file that "
                f"it was saved to, instead of making a new one."
            )
        self._book.check_own(shown.number, shown.life)

    @property
    def positions(self) -> int:
        """The length of the longest list."""
        return self.options.positions

    @property
    def name(self) -> str:
        """The name by which its lists know it."""
        return self._identity.name

    @property
    def items(self) -> list[str]:
        """The items that are there, hidden ones among them."""
        with self._gate.reading:
            return self._roster.items()

    @property
    def hidden(self) -> list[str]:
        """The items that are there, but not shown."""
        with self._gate.reading:
            return self._roster.hidden()

    @property
    def learned(self) -> int:
        """How many lists were learned."""
        return self._learned

    @property
    def belief(self) -> Any:
        """A copy of what the policy has learned: its arrays by name."""
        with self._gate.reading:
            return copy_arrays(self._learner.belief)

    @property
    def capabilities(self) -> Capabilities:
        """What the policy can take."""
        return self._can

    def __len__(self) -> int:
        return len(self._roster)

    def __contains__(self, item: object) -> bool:
        return item in self._roster

    def __repr__(self) -> str:
        """What it is, without the items."""
        sizes = ((len(self), "item"), (self.positions, "position"), (self._learned, "list"))
        size = ", ".join(count_text(count, word) for count, word in sizes)
        return f"<Ranker {self.name} with {self._title}: {size} learned>"

    def estimates(self, person: Any = None) -> Table:
        """Per item how often it was examined, the mean of that, an interval for it and the policy's index.

        Where items meet a person's features, they are in the eyes of that `person`.
        """
        told = self._known.told(person, None)
        with self._gate.reading:
            seen_as, _ = self._known.of_call(told, self._roster.slot)
            assessment = explanations.assessed(
                self._learner.policy, self._learner.belief, self._everybody(seen_as), None
            )
            return explanations.estimates(self._roster.items(), assessment, self._learned)

    def explain(self, shown: Shown) -> Table:
        """Per position of a list why that item stands there, in numbers of now."""
        self._check_own(shown)
        with self._gate.reading:
            # Without the person who saw the list, only its own items' rows are known, and those lie in the list.
            rows = self._known.rows
            if self._known.person > 0:
                rows = np.zeros((len(rows), self._known.total))
            request = self._everybody(rows)
            return explanations.reasons(
                shown, self._learner.policy, self._learner.belief, request, self._roster, self._learned
            )

    def preferences(self) -> Table:
        """Per feature the weight that was learned, and how uncertain it is; for policies that learn from features."""
        if not self._can.needs_features:
            self._refuse("learns every item by itself", "ask for estimates()")
        with self._gate.reading:
            return explanations.preferences(self._learner.policy, self._learner.belief, self._learned)

    def changes(self) -> Table:
        """What was found to have changed: after how many lists, which item, and its mean until then."""
        if not self._can.detects:
            self._refuse("does not look for changes", "use one with a Resetting memory, as cascade-kl-ucb-resetting")
        with self._gate.reading:
            return self._changes.table()

    def _everybody(self, rows: Floats) -> Request:
        """All items with these features, to be assessed."""
        return Request(self._roster.everybody(), self.positions, NONE, NONE, rows, 0, self._roster.labels, 0)

"""Items whose attraction changes while policies learn it: abruptly, for a while, or slowly.

Breakpoints are counted like everything a person sees: one at 500 means that 500 lists were shown before the change.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import InvalidInput, Problem, number, probabilities, refuse, whole
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.fixed import b_top_k, known_rows, page_size

FOREVER = 1 << 62  # a step that never comes
MOST_TOLD = 1000  # a world that changes more often than this changes all the time


class Phase(NamedTuple):
    """The state of a world that changes: what is true of this moment, and when it will be otherwise."""

    attraction: Floats  # per item; negative: the item is not there
    there: Ints  # the items that are there, ascending, before anything else
    present: Ints  # one element: how many are there
    epoch: Ints  # one element: how many changes there were
    upcoming: Ints  # one element: the step of the next change
    until: Ints  # per item: the step at which it comes or goes next
    turns: Ints  # per item: how often that was drawn


class Changing(NamedTuple):
    """Each item attracts with a probability of its own, which changes as `how` says.

    `attraction` is that of the beginning. What is drawn of the changes is drawn anew in every run, and is the same for
    all policies of a run. Regret is against the best list of each moment.
    """

    attraction: Any
    positions: int
    how: Any  # Epochs(), Jumps(), Walk() or Stays()
    known: Any = ()  # (items, features): what policies know of the items; empty: nothing

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        attraction = probabilities("The attraction", self.attraction, None, "item")
        positions = page_size(len(attraction), self.positions)
        known = known_rows("Changing's known", self.known, len(attraction))
        how = self.how.checked(attraction, positions)
        return self._replace(attraction=attraction, positions=positions, how=how, known=known)

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(len(self.attraction), self.positions, np.shape(self.known)[1] if len(self.known) else 0, steps)

    def begin(self) -> Phase:
        """Before the first step nothing is drawn."""
        items = len(self.attraction)
        one = np.zeros(1, dtype=np.int64)
        per_item = np.zeros(items, dtype=np.int64)
        return Phase(
            attraction=np.zeros(items),
            there=per_item.copy(),
            present=one.copy(),
            epoch=one.copy(),
            upcoming=one.copy(),
            until=per_item.copy(),
            turns=per_item.copy(),
        )

    def features(self, moment: Phase) -> Floats:
        """What policies know."""
        known: Floats = self.known
        return known

    def revision(self, moment: Phase) -> int:
        """Always the same features."""
        return 0

    def order(self, moment: Phase) -> Ints:
        """Nobody tells."""
        return NONE

    def eligible(self, moment: Phase, candidates: Ints) -> int:
        """Those that are there."""
        for place in range(moment.present[0]):
            candidates[place] = moment.there[place]
        return moment.present[0]  # type: ignore[no-any-return]

    def advance(self, moment: Phase, step: int, key: int) -> bool:
        """Begin, or change if it is time."""
        if 0 < step < moment.upcoming[0]:
            return False
        if step == 0:
            moment.epoch[0] = 0
            moment.present[0] = len(self.attraction)
            for item in range(len(self.attraction)):
                moment.attraction[item] = self.attraction[item]
                moment.there[item] = item
        return self.how.shift(self.attraction, moment, step, key)  # type: ignore[no-any-return]

    def attract(self, moment: Phase, items: Ints, attraction: Floats) -> None:
        """Each item its own; what is not there attracts nobody."""
        for place in range(len(items)):
            attraction[place] = max(0.0, moment.attraction[items[place]]) if items[place] >= 0 else 0.0

    def best_list(self, moment: Phase, users: Any, items: Ints) -> None:
        """As the users would have it, of the items that are there."""
        size = min(len(items), moment.present[0])
        users.best(moment, moment.attraction, items[:size])
        for place in range(size, len(items)):
            items[place] = -1

    def breakpoints(self, key: int, steps: int) -> Ints:
        """The steps of a run after which it changed abruptly; none where it moves slowly, or all the time."""
        found: list[int] = []
        if self.how.abrupt():
            moment = self.begin()
            self.advance(moment, 0, key)
            while (step := int(moment.upcoming[0])) < steps and len(found) <= MOST_TOLD:
                if self.advance(moment, step, key):
                    found.append(step)
        return np.array(found if len(found) <= MOST_TOLD else [], dtype=np.int64)

    def passing(self) -> bool:
        """Whether items come and go."""
        return bool(self.how.passing())


@helper
def lasting(key: int, turn: int, mean: float) -> int:
    """How many steps something lasts that ends with each step with probability 1 / mean: at least one."""
    if mean <= 1.0:
        return 1
    return 1 + int(math.log(1.0 - uniform(key, turn)) / math.log1p(-1.0 / mean))


class Epochs(NamedTuple):
    """Another attraction for all items after each breakpoint.

    With breakpoints, epoch by epoch, once. With a mean `length` instead, each step is the last of its epoch with
    probability 1 / length, drawn per run, and after the last epoch the first comes again.
    """

    later: Any  # (epochs after the first, items)
    breakpoints: Any = ()  # ascending, one before each of these epochs
    length: float = 0.0  # or the mean number of steps of an epoch

    def checked(self, attraction: Floats, positions: int) -> Self:
        """One row per epoch, and as many breakpoints."""
        rows = [probabilities("The attraction of an epoch", row, None, "item") for row in self.later]
        for row in rows:
            if len(row) != len(attraction):
                accepted = f"{len(attraction)} probabilities"
                raise refuse("An epoch", row.tolist(), accepted, "give one per item, as in the first")
        if not rows:
            raise InvalidInput("There is one epoch, but a change needs two; give a row of attractions for each.")
        breakpoints = _ascending(self.breakpoints)
        length = number("The mean length of an epoch", self.length, 0.0, 1e15, "leave it out to give breakpoints")
        if length == 0.0 and len(breakpoints) != len(rows):
            advice = "give one fewer than epochs, or a mean length"
            raise refuse("breakpoints", breakpoints.tolist(), f"{len(rows)} steps", advice)
        if length > 0.0 and (len(breakpoints) > 0 or length < 1.0):
            raise refuse("The mean length of an epoch", length, "at least 1, without breakpoints", "give one of both")
        return self._replace(later=np.array(rows), breakpoints=breakpoints, length=length)

    def abrupt(self) -> bool:
        """Yes."""
        return True

    def passing(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Enter the next epoch."""
        if step > 0:
            moment.epoch[0] += 1
        epoch = moment.epoch[0]
        row = epoch % (len(self.later) + 1)
        for item in range(len(attraction)):
            moment.attraction[item] = attraction[item] if row == 0 else self.later[row - 1, item]
        if self.length > 0.0:
            moment.upcoming[0] = step + lasting(key, epoch, self.length)
        else:
            moment.upcoming[0] = self.breakpoints[epoch] if epoch < len(self.breakpoints) else FOREVER
        return True


def _ascending(given: Any) -> Ints:
    """Breakpoints as an array of their own."""
    accepted, advice = "ascending whole numbers of at least 1", "give the numbers of steps before each change"
    try:
        steps = [operator.index(step) for step in given]
    except TypeError:
        raise refuse("breakpoints", given, accepted, advice) from None
    if any(step <= before for before, step in zip([0, *steps], steps, strict=False)):
        raise refuse("breakpoints", given, accepted, advice)
    return np.array(steps, dtype=np.int64)


class Jumps(NamedTuple):
    """For a while, some items that are not among the K most attractive at the beginning jump to `height`.

    Which ones is drawn anew each time. Of equally attractive items, the K most attractive are those of lower index.
    """

    raised: int = 3  # how many
    height: float = 0.9
    up: int = 10_000  # steps: m1
    down: int = 10_000  # steps, with which it begins: m2
    suboptimal: Any = ()  # items, the most attractive first; filled by `checked`

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Who may jump."""
        suboptimal = np.argsort(-attraction, kind="stable")[positions:]
        raised = whole("How many items jump", self.raised, 1, "give a number")
        if raised > len(suboptimal):
            accepted = f"at most {len(suboptimal)}, the items that are not among the K most attractive"
            raise refuse("How many items jump", raised, accepted, "let fewer jump, or add items")
        return self._replace(
            raised=raised,
            height=number("The height of a jump", self.height, 0.0, 1.0, "give one probability"),
            up=whole("How many steps a jump lasts", self.up, 1, "the paper's is 10,000"),
            down=whole("How many steps lie between jumps", self.down, 1, "the paper's is 10,000"),
            suboptimal=suboptimal,
        )

    def abrupt(self) -> bool:
        """Yes."""
        return True

    def passing(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Up, or back again."""
        if step > 0:
            moment.epoch[0] += 1
        for item in range(len(attraction)):
            moment.attraction[item] = attraction[item]
        moment.upcoming[0] = step + (self.up if moment.epoch[0] % 2 == 1 else self.down)
        if moment.epoch[0] % 2 == 1:
            # The largest numbers win: drawn by rank, so that it does not matter how items are numbered.
            drawn, below = branch(key, moment.epoch[0]), 2.0
            for _ in range(self.raised):
                chosen, most = -1, -1.0
                for rank in range(len(self.suboptimal)):
                    own = uniform(drawn, rank)
                    if most < own < below:
                        chosen, most = self.suboptimal[rank], own
                moment.attraction[chosen] = self.height
                below = most
        return True


class Walk(NamedTuple):
    """A random walk of each item: a fair coin at each step moves it up or down by its `speed`, between two walls.

    After t steps it has moved by about speed * sqrt(t). What would cross a wall is thrown back by as much.
    """

    speed: Any = 0.001  # one number, or one per item
    low: float = 0.0
    high: float = 1.0

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Walls with all items between them, and one speed per item."""
        low = number("The lower wall", self.low, 0.0, 1.0, "give one probability")
        high = number("The upper wall", self.high, low, 1.0, "give one probability, not below the lower wall")
        if attraction.min() < low or attraction.max() > high:
            raise refuse("The attraction", attraction.tolist(), f"between {low:g} and {high:g}", "move the walls")
        speed = probabilities("The speed", self.speed, len(attraction), "item")
        if speed.max() > high - low:
            accepted = f"at most the distance of the walls, {high - low:g}"
            raise refuse("The speed", float(speed.max()), accepted, "0.001 is usual")
        return self._replace(speed=speed, low=low, high=high)

    def abrupt(self) -> bool:
        """No."""
        return False

    def passing(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """One step of each item."""
        moment.upcoming[0] = step + 1
        if step > 0:
            coins = branch(key, step)
            for item in range(len(attraction)):
                moved = moment.attraction[item] + (self.speed[item] if toss(coins, item, 0.5) else -self.speed[item])
                if moved > self.high:
                    moved = 2.0 * self.high - moved
                elif moved < self.low:
                    moved = 2.0 * self.low - moved
                moment.attraction[item] = min(max(moved, self.low), self.high)  # against rounding
        return True


@entry("Piecewise constant attraction")
def piecewise(
    attraction: Sequence[Sequence[float]] | Floats,
    positions: int,
    breakpoints: Sequence[int] | Ints = (),
    length: float = 0.0,
) -> Changing:
    """A row of attractions per epoch, and the breakpoints between them, given or drawn.

    A breakpoint is the number of steps before a change. With a mean `length` of epochs instead, each step is the last
    of its epoch with probability 1 / length, drawn per run; after the last epoch the first comes again.

    >>> world = piecewise([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]], positions=1, breakpoints=[500, 800])
    >>> world.checked().breakpoints(key=0, steps=1000).tolist()
    [500, 800]
    """
    try:
        first, *later = attraction
    except (TypeError, ValueError):
        raise refuse("attraction", attraction, "a row of probabilities per epoch", "give one per item") from None
    return Changing(first, positions, Epochs(later, breakpoints, length))


@entry("Jumping attraction", "li2019")
def jumping(
    attraction: Sequence[float] | Floats,
    positions: int,
    raised: int = 3,
    height: float = 0.9,
    up: int = 10_000,
    down: int = 10_000,
) -> Changing:
    """Every other epoch, some items that are not among the K most attractive jump to `height`, as in li2019, section 5.

    It begins with `down` steps (m2) of the given attraction; then `raised` items, drawn anew each time and per run,
    jump for `up` steps (m1), and so on.

    >>> jumping([0.5, 0.4, 0.1, 0.1, 0.1], positions=2).checked().breakpoints(key=0, steps=50_000).tolist()
    [10000, 20000, 30000, 40000]
    """
    return Changing(attraction, positions, Jumps(raised, height, up, down))


@entry("Drifting attraction")
def drifting(
    attraction: Sequence[float] | Floats, positions: int, speed: Any = 0.001, low: float = 0.0, high: float = 1.0
) -> Changing:
    """Each attraction walks at random: at every step up or down by `speed`, and back where it meets `low` or `high`.

    The coins are drawn per run. After t steps an attraction has moved by about speed * sqrt(t). Restless bandits of
    this kind are Slivkins and Upfal's (Adapting to a Changing Environment, COLT 2008).

    >>> drifting([0.5, 0.4, 0.1], positions=2, speed=0.01).how.speed
    0.01
    """
    return Changing(attraction, positions, Walk(speed, low, high))


@entry("B_L", "li2019")
def b_l(items: int = 16, attraction: float = 0.2, gap: float = 0.15, steps: int = 100_000) -> Changing:
    """The problem B_L of li2019, section 4.2: half of the items attract with p, the others with p - D; K = L / 2.

    There are two breakpoints. The paper does not say where and what; here the halves change places after a third of the
    steps, and back after two thirds. `bounds.li2019_theorem3` is what any policy loses at least.

    >>> b_l(items=4, steps=900).checked().breakpoints(key=0, steps=900).tolist()
    [300, 600]
    """
    items = whole("The number of items L", items, 2, "give the number of items")
    if items % 2 == 1:
        raise refuse("The number of items L", items, "an even number", "half of the items are shown, K = L / 2")
    steps = whole("The number of steps", steps, 3, "give how many lists each run shows")
    first = np.asarray(b_top_k(items, items // 2, attraction, gap).attraction)
    return piecewise(np.array([first, first[::-1], first]), items // 2, [steps // 3, 2 * steps // 3])

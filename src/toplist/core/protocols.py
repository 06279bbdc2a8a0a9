"""What every part must be able to do; registering a part's hot methods with the compiler happens here and only here.

Methods under "hot" run inside the compiled loop: they allocate nothing, call only scalar mathematics and other
parts, and keep scratch in the arrays they are given. The others run once, in plain Python. Beliefs, caches and
moments are NamedTuples of arrays of the part's own making.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Page, Request, Slate


class Capabilities(NamedTuple):
    """What a policy can take, as data, so that callers can refuse with a sentence instead of going wrong."""

    learns: bool = True  # its lists depend on clicks
    adds_items: bool = True  # items may come later
    takes_subsets: bool = True  # any subset of the items may be eligible in a call
    takes_pins: bool = True  # single places may be given in a call
    learns_from_any_list: bool = True  # also from a list that somebody else made
    samples: str = "item"  # what one sample of everything before step 1 means: "item", "item and place", or "nothing"
    grows: bool = False  # its belief grows with the number of lists learned
    needs_simulator: bool = False  # it must be told what only a simulator knows
    needs_features: bool = False  # it learns from features, without which it can do nothing
    covers_topics: bool = False  # its features are degrees in [0, 1], to which items cover topics
    detects: bool = False  # it looks for changes, and says when it found one
    forgets: bool = False  # what it learned long ago counts less, or not at all: it is for people who change


class Prepared(Protocol):
    """Every part: checks its parameters once, and resolves those that depend on the size of the problem."""

    def prepare(self, problem: Problem) -> Self:
        """This part with its parameters validated, coerced and resolved."""
        ...


@dataclass(frozen=True)
class Assessment:
    """What a policy thinks of some items, for people to read."""

    examined: Floats  # how often
    mean: Floats  # of what they said; nan for never examined
    index: Floats  # how good they could be; nan where there is no such number
    drawn: bool = False  # the index is the probability of being drawn
    why: str = "drawn by chance"  # why an item is shown that has no index
    deviation: Floats | None = None  # of the mean, where the memory knows better than the number of tries does


class Change(NamedTuple):
    """Something that was found to have changed."""

    learned: int  # lists learned by then
    item: int
    mean: float  # of what was said of the item until then


@protocol
class HotUsers(Protocol):
    """How a person turns attraction into clicks (hot)."""

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Fill `page.clicks` and `page.left` for one visitor, whose random key is `visitor`; the number of clicks.

        `moment` is the world's state, for people who change with it.
        """
        ...

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected reward of a list; `attraction` is per place."""
        ...

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """Fill `items` with the list of highest reward where the attraction of an item is its own.

        Items whose attraction is negative are not there. Where fewer are there than the page has places, `items` is as
        long as their number, and stands for the places from the top.
        """


class Users(Prepared, HotUsers, Protocol):
    """A click model.

    Arrays that it works in are fields, which `prepare` fills; every run has copies of its own.
    """


@protocol
class HotWorld(Protocol):
    """Where attraction comes from (hot)."""

    def advance(self, moment: Any, step: int, key: int) -> bool:
        """Move to a step (the first is 0); True at the first, and where the best list or its reward may be another."""

    def eligible(self, moment: Any, candidates: Ints) -> int:
        """Fill the items that can be shown now, ascending; their number, at least one.

        Those of the first step were there before it, and may have been sampled.
        """
        ...

    def revision(self, moment: Any) -> int:
        """A number that changes whenever the features do; negative where they are those of one list only."""
        ...

    def attract(self, moment: Any, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each place of a list; 0 where its item is negative, for nothing stands there."""

    def best_list(self, moment: Any, users: Any, items: Ints) -> None:
        """Fill the best list that these users could be shown now; -1 below it, where too few items are there."""


class World(HotWorld, Protocol):
    """The items and the page on which they are shown."""

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        ...

    def problem(self, steps: int | None) -> Problem:
        """The size of the problem."""
        ...

    def begin(self) -> Any:
        """The moment before the first step."""

    def features(self, moment: Any) -> Floats:
        """The items' features, (items, features); `advance` may rewrite this very array."""
        ...

    def order(self, moment: Any) -> Ints:
        """The places from the most to the least valuable, which `advance` may rewrite; empty: nobody knows."""
        ...


class Breaking(Protocol):
    """What a world may offer besides, so that plots can show when it changed."""

    def breakpoints(self, key: int, steps: int) -> Ints:
        """After how many steps, of so many, it changed abruptly in the run whose changes have this key; ascending."""
        ...


class Passing(Protocol):
    """What a world offers besides if its items come and go."""

    def passing(self) -> bool:
        """Whether there are steps at which some items cannot be shown."""
        ...


@protocol
class HotShift(Protocol):
    """How a `Changing` world changes (hot)."""

    def shift(self, attraction: Floats, moment: Any, step: int, key: int) -> bool:
        """Change the moment as a step asks; True at the first, and where something did change.

        `attraction` is that of the beginning, and the moment's at the first step, with all items there. Asked again at
        the step that it writes to `moment.upcoming`.
        """
        ...


class Shift(HotShift, Protocol):
    """A way to change."""

    def checked(self, attraction: Floats, positions: int) -> Self:
        """This way to change with its parameters validated and coerced, for a world that begins like this."""
        ...

    def abrupt(self) -> bool:
        """Whether its changes are breakpoints, and not a slow drift."""
        ...

    def passing(self) -> bool:
        """Whether items come and go."""
        ...


@protocol
class HotReading(Protocol):
    """Which places were examined, and what each said (hot)."""

    def read(self, page: Page, size: int) -> None:
        """Fill `page.weight` and `page.value` for the first `size` places; weight 0 is not examined."""


class Reading(Prepared, HotReading, Protocol):
    """A reading of the clicks."""


@protocol
class HotMemory(Protocol):
    """What is kept of the past (hot)."""

    def tick(self, belief: Any) -> None:
        """One more list is being learned; called before its places are added."""

    def add(self, belief: Any, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add what one place said of one item."""

    def conclude(self, belief: Any) -> None:
        """All places of a list are added."""


class Memory(Prepared, HotMemory, Protocol):
    """A memory."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is known."""

    def keeps(self) -> str:
        """The kind of belief, which an index must be able to read: "counts", "linear", ..."""
        ...


@protocol
class HotDetector(Protocol):
    """Whether what is said of an item has become another (hot)."""

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Take in an observation; whether the stream has changed. `row` is all that is kept of it."""
        ...


class Detector(Prepared, HotDetector, Protocol):
    """A change detector."""

    def room(self) -> int:
        """How many numbers it keeps of a stream, all 0 at first."""
        ...


class Tallying(Protocol):
    """What a memory may offer besides, so that a ranker can give estimates."""

    def tally(self, belief: Any, request: Request) -> tuple[Floats, Floats]:
        """Per candidate, how much it was examined and the mean of what it said; nan where that is not kept."""
        ...


class Forgetting(Protocol):
    """What a memory offers besides if it does not keep everything for ever."""

    def forgetful(self) -> bool:
        """Whether what was learned long ago counts less, or not at all."""
        ...


class Detecting(Protocol):
    """What a memory that looks for changes offers besides."""

    def alarms(self, belief: Any, after: int = 0) -> list[Change]:
        """The latest changes, without the first `after` that were ever found."""
        ...


@protocol
class HotIndex(Protocol):
    """How good an item could be (hot)."""

    def top(self, belief: Any, cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
        """Fill `chosen` with the best eligible items, the best first, and `scores` with numbers in that order."""


@protocol
class HotGauge(Protocol):
    """What an index over features offers besides (hot)."""

    def gauge(
        self, belief: Any, cache: Any, request: Request, covered: Floats, kind: int, placed: int, values: Floats
    ) -> None:
        """Fill the value of each candidate, at its item, for its gain over what a list covers already.

        `placed` is the item just put into the list, and all values are those from before it; negative at the first
        place, where nothing is covered.
        """


@protocol
class HotTangent(Protocol):
    """What an index over counts offers besides, so that very many items need not all be looked at (hot)."""

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index of an item with these counts at a budget, to the last bit, and how fast it grows there.

        It is never below 0, and concave in the budget; one that does not grow has slope 0.
        """
        ...


class Index(Prepared, HotIndex, Protocol):
    """An index."""

    def scratch(self, problem: Problem) -> Any:
        """The cache of one belief, which may be thrown away at any time."""

    def reads(self) -> str:
        """The kind of belief it can read, or "any"."""
        ...

    def draws_one(self) -> bool:
        """Whether it fills only the first place it is asked for, as a bandit of one position needs it."""
        ...


class Deviating(Protocol):
    """What a memory of features may offer besides."""

    def deviation(self, belief: Any, request: Request) -> Floats:
        """Per candidate, the standard deviation of what is expected of it."""
        ...

    def doubt(self, belief: Any) -> Floats:
        """Per feature, the standard deviation of its weight."""
        ...


class Exact(Protocol):
    """What an index may offer besides, so that a ranker can give estimates and reasons."""

    def exact(self, belief: Any, request: Request) -> Floats:
        """The index of every candidate, for people to read; nan where there is none."""
        ...


@protocol
class HotArrangement(Protocol):
    """How a list comes out of scores (hot)."""

    def arrange(self, scoring: Any, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Fill the slate."""


class Arrangement(Prepared, HotArrangement, Protocol):
    """An arrangement."""

    def scratch(self, problem: Problem) -> Any:
        """Arrays to work in."""

    def asks(self) -> str:
        """The method of an index that it calls."""
        ...


@protocol
class HotStart(Protocol):
    """How a simulated policy gets its first look at the items (hot)."""

    def pin(self, step: int, pins: Ints) -> None:
        """Force what must be shown at a step."""


class Start(Prepared, HotStart, Protocol):
    """A start."""

    def sampled(self) -> bool:
        """Whether one sample of everything is given before the first step."""
        ...

    def places(self, problem: Problem) -> int:
        """How many places `pin` may write to: all, or 0 where nothing is ever forced."""
        ...


@protocol
class HotPolicy(Protocol):
    """An algorithm at work (hot)."""

    def rank(self, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Make a list. Writes the cache and the slate, never the belief."""

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Learn from a list shown at any earlier time."""

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Learn free samples of an item at a place, `weight` of them with mean `value`, before it was ever shown."""


@runtime_checkable
class PolicyLike(Prepared, HotPolicy, Protocol):
    """An algorithm with its parameters."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is known: a NamedTuple of arrays.

        Where items can be added, an array that holds something per item has the items along its first axis, each
        with as many rows as the others, so that a belief about more items begins like one about fewer.
        """

    def scratch(self, problem: Problem) -> Any:
        """The cache of one belief, which may be thrown away at any time."""

    def slate(self, problem: Problem) -> Slate:
        """An empty slate with the memo this policy needs."""

    def capabilities(self) -> Capabilities:
        """What it can take."""
        ...


class Assessing(Protocol):
    """What a policy may offer besides, so that a ranker can give estimates and reasons."""

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """What it thinks of the candidates at a place, or all in all."""
        ...


class Renumbering(Protocol):
    """What a policy offers besides if it is given a ranking of the items, by their numbers."""

    def renumbered(self, order: Ints) -> Self:
        """The same policy where item i is the one that was `order[i]` before."""
        ...

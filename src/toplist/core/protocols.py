"""The protocols of parts; the only place where the hot methods of parts are registered with the compiler.

Methods of the `Hot` protocols run inside the compiled loop: they allocate nothing, call only scalar mathematics and
other parts, and work in the arrays they are given. The others run once, in plain Python. Beliefs, caches and moments
are NamedTuples of arrays that the part defines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Page, Request, Slate


class Capabilities(NamedTuple):
    """What a policy supports, as data, so that callers can refuse unsupported calls with a clear message."""

    learns: bool = True  # its lists depend on clicks
    adds_items: bool = True  # items may be added later
    takes_subsets: bool = True  # any subset of the items may be eligible in a call
    takes_pins: bool = True  # single positions may be pinned in a call
    learns_from_any_list: bool = True  # it also learns from lists that it did not make
    samples: str = "item"  # unit of the one sample before step 1: "item", "item and place" (position), or "nothing"
    grows: bool = False  # its belief grows with the number of lists learned
    needs_simulator: bool = False  # it needs data that only a simulator has
    needs_features: bool = False  # it learns from features and cannot work without them
    covers_topics: bool = False  # its features are degrees in [0, 1] to which items cover topics
    detects: bool = False  # it detects and reports changes
    forgets: bool = False  # old observations count less, or not at all: it is for users who change


class Prepared(Protocol):
    """The protocol of every part: parameters are checked once, and resolved for the size of the problem."""

    def prepare(self, problem: Problem) -> Self:
        """Validate, coerce and resolve the parameters.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        Self
            A copy with the resolved parameters; preparing it again changes nothing.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...


@dataclass(frozen=True)
class Assessment:
    """A policy's estimates of some items, for display.

    Parameters
    ----------
    examined : ndarray of float
        How often each item was examined.
    mean : ndarray of float
        Mean observed value; nan for items never examined.
    index : ndarray of float
        Index of each item; nan where there is none.
    drawn : bool, default False
        Whether the index is the probability of being drawn.
    why : str, default "drawn by chance"
        Reason for showing an item that has no index.
    deviation : ndarray of float or None, default None
        Standard deviation of the mean, where the memory has a better one than the number of examinations gives.
    """

    examined: Floats
    mean: Floats
    index: Floats
    drawn: bool = False
    why: str = "drawn by chance"
    deviation: Floats | None = None


class Change(NamedTuple):
    """A detected change of an item.

    Parameters
    ----------
    learned : int
        Number of lists learned at the detection.
    item : int
        The item.
    mean : float
        Mean observed value of the item until then.
    """

    learned: int
    item: int
    mean: float


@protocol
class HotUsers(Protocol):
    """How a visitor turns attraction into clicks (hot)."""

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Fill `page.clicks` and `page.left` for one visitor.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
            Users that change with the world read it.
        items : ndarray of int
            Items of the list.
        attraction : ndarray of float
            Attraction per position.
        labels : ndarray of int
            Per item the number that identifies it to the random numbers.
        visitor : int
            Random key of the visitor.
        page : Page
            Page to fill.

        Returns
        -------
        int
            Number of clicks.
        """
        ...

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected reward of a list.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        items : ndarray of int
            Items of the list.
        attraction : ndarray of float
            Attraction per position.

        Returns
        -------
        float
            The expected reward.
        """
        ...

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """Fill `items` with the list of highest reward, where the attraction of an item does not depend on the others.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        attraction : ndarray of float
            Attraction per item; negative for items that are absent.
        items : ndarray of int
            List to fill. If fewer items are present than the page has positions, it has as many elements as items are
            present, and stands for the positions from the top.
        """


class Users(Prepared, HotUsers, Protocol):
    """A click model.

    Working arrays are fields, which `prepare` fills; every run has its own copies.
    """


@protocol
class HotWorld(Protocol):
    """Where attraction comes from (hot)."""

    def advance(self, moment: Any, step: int, key: int) -> bool:
        """Move to a step.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        step : int
            The step; the first is 0.
        key : int
            Random key of the world's changes.

        Returns
        -------
        bool
            True at the first step, and where the best list or its reward may have changed.
        """

    def eligible(self, moment: Any, candidates: Ints) -> int:
        """Fill the items that can be shown now, ascending.

        Items eligible at the first step were present before it, and may have been sampled.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        candidates : ndarray of int
            Array to fill.

        Returns
        -------
        int
            Number of eligible items, at least one.
        """
        ...

    def revision(self, moment: Any) -> int:
        """Version of the features.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        int
            A number that changes whenever the features do; negative for features of one list only.
        """
        ...

    def attract(self, moment: Any, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each position of a list.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        items : ndarray of int
            Items of the list; negative for an empty position, whose attraction is 0.
        attraction : ndarray of float
            Array to fill.
        """

    def best_list(self, moment: Any, users: Any, items: Ints) -> None:
        """Fill the best list for these users now.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        users : Users
            The click model.
        items : ndarray of int
            List to fill; -1 at the end if too few items are present.
        """


class World(HotWorld, Protocol):
    """The items, and the page on which they are shown."""

    def checked(self) -> Self:
        """Validate and coerce the parameters.

        Returns
        -------
        Self
            A copy with the checked parameters.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...

    def problem(self, steps: int | None) -> Problem:
        """The size of the problem.

        Parameters
        ----------
        steps : int or None
            Horizon; None if unknown.

        Returns
        -------
        Problem
            The size.
        """
        ...

    def begin(self) -> Any:
        """The moment before the first step.

        Returns
        -------
        NamedTuple of ndarray
            State of the world.
        """

    def features(self, moment: Any) -> Floats:
        """The features of the items.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        ndarray of float, shape (items, features)
            The features; `advance` may rewrite this array in place.
        """
        ...

    def order(self, moment: Any) -> Ints:
        """The positions from the most to the least valuable.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        ndarray of int
            The order, which `advance` may rewrite in place; empty if unknown.
        """
        ...


class Breaking(Protocol):
    """Optional for a world: its breakpoints, for plots."""

    def breakpoints(self, key: int, steps: int) -> Ints:
        """The steps after which the world changed abruptly in a run.

        Parameters
        ----------
        key : int
            Random key of the world's changes in the run.
        steps : int
            Number of steps of the run.

        Returns
        -------
        ndarray of int
            Numbers of steps, ascending.
        """
        ...


class Passing(Protocol):
    """Optional for a world: whether its items come and go."""

    def passing(self) -> bool:
        """Whether some items cannot be shown at some steps.

        Returns
        -------
        bool
            True if items come and go.
        """
        ...


@protocol
class HotShift(Protocol):
    """How a `Changing` world changes (hot)."""

    def shift(self, attraction: Floats, moment: Any, step: int, key: int) -> bool:
        """Change the moment for a step; called again at the step that it writes to `moment.upcoming`.

        Parameters
        ----------
        attraction : ndarray of float
            Initial attraction; the moment has the same at the first step, with all items present.
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        step : int
            The step; the first is 0.
        key : int
            Random key of the world's changes.

        Returns
        -------
        bool
            True at the first step, and where something changed.
        """
        ...


class Shift(HotShift, Protocol):
    """A kind of change."""

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Validate and coerce the parameters.

        Parameters
        ----------
        attraction : ndarray of float
            Initial attraction.
        positions : int
            Number of positions of a list.

        Returns
        -------
        Self
            A copy with the checked parameters.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...

    def abrupt(self) -> bool:
        """Whether its changes are breakpoints, and not a slow drift.

        Returns
        -------
        bool
            True for breakpoints.
        """
        ...

    def passing(self) -> bool:
        """Whether items come and go.

        Returns
        -------
        bool
            True if they do.
        """
        ...


@protocol
class HotReading(Protocol):
    """Which positions were examined, and the value observed at each (hot)."""

    def read(self, page: Page, size: int) -> None:
        """Fill `page.weight` and `page.value`.

        Parameters
        ----------
        page : Page
            Page with the clicks; weight 0 stands for not examined.
        size : int
            Number of positions of the list.
        """


class Reading(Prepared, HotReading, Protocol):
    """A reading of the clicks."""


@protocol
class HotMemory(Protocol):
    """How observations are stored (hot)."""

    def tick(self, belief: Any) -> None:
        """Begin to learn one more list; called before its positions are added.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        """

    def add(self, belief: Any, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add the observation of one item at one position.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        item : int
            The item.
        weight : float
            How much the position was examined.
        value : float
            Observed value.
        slate : Slate
            The list.
        place : int
            Position in the list, counted from 0.
        """

    def conclude(self, belief: Any) -> None:
        """Finish a list whose positions have all been added.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        """


class Memory(Prepared, HotMemory, Protocol):
    """A memory."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is learned.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            Initial belief.
        """

    def keeps(self) -> str:
        """The kind of belief, which an index must be able to read.

        Returns
        -------
        str
            For example "counts" or "linear".
        """
        ...


@protocol
class HotDetector(Protocol):
    """Whether the observations of an item have changed (hot)."""

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Process an observation.

        Parameters
        ----------
        row : ndarray of float
            State of the stream; all 0 before the first observation.
        weight : float
            Weight of the observation.
        value : float
            Observed value.

        Returns
        -------
        bool
            Whether the stream has changed.
        """
        ...


class Detector(Prepared, HotDetector, Protocol):
    """A change detector."""

    def room(self) -> int:
        """Size of the state of one stream.

        Returns
        -------
        int
            Number of elements of a row.
        """
        ...


class Tallying(Protocol):
    """Optional for a memory: the counts behind a ranker's estimates."""

    def tally(self, belief: Any, request: Request) -> tuple[Floats, Floats]:
        """How much each candidate was examined, and its mean value.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        tuple of ndarray of float
            Examinations and means, per candidate; nan where they are not stored.
        """
        ...


class Forgetting(Protocol):
    """Optional for a memory: whether it forgets."""

    def forgetful(self) -> bool:
        """Whether old observations count less, or not at all.

        Returns
        -------
        bool
            True if they do.
        """
        ...


class Detecting(Protocol):
    """Optional for a memory: the changes it has detected."""

    def alarms(self, belief: Any, after: int = 0) -> list[Change]:
        """The latest changes.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        after : int, default 0
            Number of changes to skip, counted from the first one ever detected.

        Returns
        -------
        list of Change
            The changes, in order.
        """
        ...


@protocol
class HotIndex(Protocol):
    """Upper bounds or draws by which items are ranked (hot)."""

    def top(self, belief: Any, cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
        """Fill the best eligible items, the best first.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        chosen : ndarray of int
            Items to fill.
        scores : ndarray of float
            Scores to fill, in the order of `chosen`.
        """


@protocol
class HotGauge(Protocol):
    """Optional for an index over features: values of gains (hot)."""

    def gauge(
        self, belief: Any, cache: Any, request: Request, covered: Floats, kind: int, placed: int, values: Floats
    ) -> None:
        """Fill the value of each candidate, at its item, for its gain over the topics that a list already covers.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        covered : ndarray of float
            Per topic how far the list covers it.
        kind : int
            Kind of coverage.
        placed : int
            Item placed last, before which `values` were computed; negative at the first position, where nothing is
            covered.
        values : ndarray of float
            Per item the value to fill.
        """


@protocol
class HotTangent(Protocol):
    """Optional for an index over counts: its slope, so that not every one of very many items is scored (hot)."""

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index of an item at a budget, and its derivative with respect to the budget.

        Parameters
        ----------
        examined : float
            Sum of weights of the item.
        clicked : float
            Sum of weights times values.
        budget : float
            Exploration budget.

        Returns
        -------
        tuple of float
            The index, bit for bit that of `top`, and the slope. The index is never below 0, and concave in the budget;
            an index that does not grow has slope 0.
        """
        ...


class Index(Prepared, HotIndex, Protocol):
    """An index."""

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one belief, which may be discarded at any time.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The cache of `top`.
        """

    def reads(self) -> str:
        """The kind of belief it can read.

        Returns
        -------
        str
            A kind of belief, or "any".
        """
        ...

    def draws_one(self) -> bool:
        """Whether it fills only the first position, as a bandit of one position needs.

        Returns
        -------
        bool
            False for an index that fills a whole list.
        """
        ...


class Deviating(Protocol):
    """Optional for a memory of features: standard deviations."""

    def deviation(self, belief: Any, request: Request) -> Floats:
        """Standard deviation of the expected value of each candidate.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        ndarray of float
            Standard deviation per candidate.
        """
        ...

    def doubt(self, belief: Any) -> Floats:
        """Standard deviation of the weight of each feature.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.

        Returns
        -------
        ndarray of float
            Standard deviation per feature.
        """
        ...


class Exact(Protocol):
    """Optional for an index: its values, for a ranker's estimates and reasons."""

    def exact(self, belief: Any, request: Request) -> Floats:
        """The index of every candidate, for display.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        ndarray of float
            Index per candidate; nan where there is none.
        """
        ...


@protocol
class HotArrangement(Protocol):
    """How a list is made from scores (hot)."""

    def arrange(self, scoring: Any, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Fill the slate.

        Parameters
        ----------
        scoring : Index
            The index.
        belief : NamedTuple of ndarray
            Learned state.
        cache : ComposedCache
            Scratch space of the arrangement and of the index.
        request : Request
            Input for the list.
        slate : Slate
            Slate to fill.
        """


class Arrangement(Prepared, HotArrangement, Protocol):
    """An arrangement."""

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one list.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The working arrays.
        """

    def asks(self) -> str:
        """The method of the index that it calls.

        Returns
        -------
        str
            For example "top".
        """
        ...


@protocol
class HotStart(Protocol):
    """How a simulated policy gets its first observations of the items (hot)."""

    def pin(self, step: int, pins: Ints) -> None:
        """Force items at a step.

        Parameters
        ----------
        step : int
            The step; the first is 0.
        pins : ndarray of int
            Per position the forced item, or -1; to be filled.
        """


class Start(Prepared, HotStart, Protocol):
    """A start."""

    def sampled(self) -> bool:
        """Whether one sample of everything is given before the first step.

        Returns
        -------
        bool
            True if it is.
        """
        ...

    def places(self, problem: Problem) -> int:
        """Number of positions that `pin` may write to.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        int
            All positions, or 0 if nothing is ever forced.
        """
        ...


@protocol
class HotPolicy(Protocol):
    """An algorithm at work (hot)."""

    def rank(self, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Make a list; writes the cache and the slate, never the belief.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        slate : Slate
            Slate to fill.
        """

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Learn from a list shown at any earlier time.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        slate : Slate
            The list.
        page : Page
            The clicks.
        """

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Learn free samples of an item at a position, before it was ever shown.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        item : int
            The item.
        place : int
            The position, counted from 0.
        weight : float
            Number of samples.
        value : float
            Their mean.
        slate : Slate
            A slate to work in.
        """


@runtime_checkable
class PolicyLike(Prepared, HotPolicy, Protocol):
    """An algorithm with its parameters."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is learned.

        If items can be added, an array with data per item has the items along its first axis, each with the same number
        of rows, so that a belief about more items begins like one about fewer.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            Initial belief.
        """

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one belief, which may be discarded at any time.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The cache of `rank`.
        """

    def slate(self, problem: Problem) -> Slate:
        """An empty slate with the memo that this policy needs.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        Slate
            The slate.
        """

    def capabilities(self) -> Capabilities:
        """What the policy supports.

        Returns
        -------
        Capabilities
            Its capabilities.
        """
        ...


class Assessing(Protocol):
    """Optional for a policy: estimates and reasons for a ranker."""

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """Estimates of the candidates.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.
        place : int or None
            Position, counted from 0; None for estimates over all positions.

        Returns
        -------
        Assessment
            The estimates.
        """
        ...


class Renumbering(Protocol):
    """Optional for a policy that is given a ranking of the items, by their numbers."""

    def renumbered(self, order: Ints) -> Self:
        """The same policy for items with other numbers.

        Parameters
        ----------
        order : ndarray of int
            Item i is the former item `order[i]`.

        Returns
        -------
        Self
            The policy with the new numbers.
        """
        ...

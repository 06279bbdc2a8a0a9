"""Source and machine code of every helper agree, to the last bit.

The contract compares whole runs of each policy, and so the helpers that these reach. All others are compared here one
by one, on the arguments that they get in runs of a few unusual situations.
"""

from __future__ import annotations

import copy
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

import toplist
from toplist import Policy, make
from toplist.clicks import CCM, DCM, UBM, ChangingDCM
from toplist.core.beliefs import MANY
from toplist.core.compiling import BULK, compiled, plain
from toplist.core.compiling.callees import callees
from toplist.core.problem import Problem
from toplist.core.randomness import wrap
from toplist.core.slate import NONE, Request, empty_page, empty_slate
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import Forced, OneSample
from toplist.logs import sample_log, shuffled_lists
from toplist.logs.fitting.loops import FitRows, curve_rows, expect_rows
from toplist.logs.fitting.partition import Partition
from toplist.logs.fitting.prior import coin_prior
from toplist.logs.models import MODELS
from toplist.logs.models.protocol import CoinSums, empty_derivatives, workspace
from toplist.logs.patterns import compress
from toplist.parts.arrange import Diverse
from toplist.parts.feedback import ThroughLastClick
from toplist.parts.index import KLUCB, BetaPosterior
from toplist.parts.index.early_kl import choose_by_estimates, early_scratch
from toplist.parts.index.few_on_gpu import FewOnGPU
from toplist.parts.index.gaps import is_eligible, leave_out
from toplist.parts.index.generalised import fill_click_probabilities
from toplist.parts.index.kl_solver import kl_step
from toplist.parts.index.last_list import ByLastList
from toplist.parts.index.per_count import fill_moss, fill_plus_plus
from toplist.parts.index.thompson import draw_everything
from toplist.parts.index.variance import variance_tangent
from toplist.parts.memory import Discounted, Everything, Logistic
from toplist.policies import Exploring
from toplist.ranker.eligible import draw_lots, draw_lots_in_bulk, find_small_lots
from toplist.ranker.labels import digest, digest_scratch
from toplist.ranker.learner import note_examined
from toplist.worlds import Contextual, Fixed, TopicCoverage, coming_and_going, jumping
from toplist.worlds.topics import SearchPath, search

TOPICS = np.random.default_rng(1).dirichlet(np.ones(4), 12)
MANY_TOPICS = np.random.default_rng(2).dirichlet(np.ones(34), 40)
FILMS = np.random.default_rng(3).uniform(0.1, 1.0, (130, 9))
FILMS[np.random.default_rng(4).random(FILMS.shape).argsort(axis=1) >= 2] = 0.0  # two of nine genres each
NINE = np.linspace(0.8, 0.05, 9)
SITUATIONS: dict[str, tuple[Any, Any, Any, Any, int]] = {
    "many items, of which some are pinned, and users of CCM": (
        "cascade-kl-ucb", Fixed(np.linspace(0.3, 0.01, MANY + 5), 3), CCM(), Forced(), 12,
    ),
    "very many items by a formula": ("cascade-ucb1", Fixed(np.linspace(0.3, 0.01, MANY), 3), DCM(0.6), OneSample(), 15),
    "draws for very many items": ("dcm-ts", Fixed(np.linspace(0.3, 0.01, MANY), 3), DCM(0.6), OneSample(), 15),
    "draws for all of a few items": ("dcm-ts", Fixed(NINE, 5), DCM(0.6), OneSample(), 30),
    "draws from a past that is soon forgotten": (
        Policy(ThroughLastClick(), Discounted(0.8), BetaPosterior()), Fixed(NINE, 3), DCM(0.6), OneSample(), 200,
    ),
    "draws by weight from very many arms": (
        "ranked-exp3(exploration=0.5, collision='remaining')", Fixed(np.linspace(0.5, 0.01, MANY // 3 + 1), 3),
        DCM(0.6), OneSample(), 12,
    ),
    "very many arms with equal counts": (
        "ranked-ucb1", Fixed(np.linspace(0.5, 0.01, MANY // 7 + 1), 7), DCM(0.6), OneSample(), 12,
    ),
    "random lists of many items": ("random", Fixed(np.linspace(0.3, 0.01, 300), 3), DCM(0.6), OneSample(), 3),
    "items that come and go": (
        "cascade-ucb1", coming_and_going(np.linspace(0.5, 0.1, 8), 3, stay=9, away=6), DCM(0.6), OneSample(), 60,
    ),
    "changes that are detected": (
        "cascade-kl-ucb-resetting", jumping(np.linspace(0.2, 0.01, 6), 2, raised=2, up=400, down=300), DCM(0.9),
        OneSample(), 1500,
    ),
    "topics, all of them in every item": (
        "cascade-lsb", TopicCoverage(TOPICS, [0.4, 0.3, 0.2, 0.1], 4), DCM(0.6), OneSample(), 60,
    ),
    "many topics, all of them in every item": (
        "cascade-lsb", TopicCoverage(MANY_TOPICS, np.full(34, 1 / 34), 3), DCM(0.6), OneSample(), 4,
    ),
    "many topics, of which the largest degree counts": (
        make("cascade-lsb")._replace(arrangement=Diverse("maximum")),
        TopicCoverage(MANY_TOPICS, np.full(34, 1 / 34), 3), DCM(0.6), OneSample(), 2,
    ),
    "films of the same genres": (
        "cascade-lin-ts", TopicCoverage(FILMS, np.full(9, 1 / 9), 3), DCM(0.6), OneSample(), 4,
    ),
    "features that change with every list": (
        make("gl-cdcm")._replace(memory=Logistic(capacity=32)), Contextual(8, 3, 4), ChangingDCM(), OneSample(), 60,
    ),
    "a past that is soon forgotten, and users of UBM": (
        "cascade-kl-ucb-discounted(gamma=0.5)", Fixed(NINE, 3), UBM(), OneSample(), 400,
    ),
    "an index in its form for a GPU": (
        Policy(ThroughLastClick(), Everything(), FewOnGPU(KLUCB(3.0))), Fixed(NINE, 3), DCM(0.6), OneSample(), 60,
    ),
    "an index in its form for many items on a GPU": (
        Policy(ThroughLastClick(), Everything(), ByLastList(KLUCB(3.0))), Fixed(np.linspace(0.3, 0.01, 90), 3),
        DCM(0.6), OneSample(), 60,
    ),
    "equal items": ("cascade-kl-ucb", Fixed(np.full(60, 0.3), 2), DCM(0.6), OneSample(), 300),
    "long lists": ("cascade-kl-ucb", Fixed(np.linspace(0.5, 0.1, 90), 40), DCM(0.6), OneSample(), 20),
    "long lists of all items": ("cascade-kl-ucb", Fixed(np.linspace(0.5, 0.1, 60), 60), DCM(0.6), OneSample(), 20),
    "batches": ("batch-rank", Fixed(NINE, 3), DCM(0.6), OneSample(), 6000),
    "neighbours exchanged to explore": (
        Exploring("cascade-ucb1", share=0.5, by="swaps"), Fixed(NINE, 3), DCM(0.6), OneSample(), 30,
    ),
    "exchanges of neighbours": ("bubble-rank(delta=0.5)", Fixed(NINE[::-1], 3), DCM(0.1), OneSample(), 3000),
}  # fmt: skip


LOG_MODELS = ("dbn", "ubm", "dcm-counts", "item-ctr")  # they call all loops that models share


def toplist_helpers(*, of_logs: bool) -> dict[CodeType, Callable[..., Any]]:
    """The helpers of click logs, or all others of toplist, by their code."""
    for module in pkgutil.walk_packages(toplist.__path__, "toplist."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = [function for function in callees if function.__module__.startswith("toplist.")]
    return {each.__code__: each for each in found if each.__module__.startswith("toplist.logs.") == of_logs}


@contextmanager
def recorded(wanted: dict[CodeType, Callable[..., Any]], copies: int) -> Iterator[dict[Callable[..., Any], list[Any]]]:
    """The arguments of the first calls of these functions from Python, copied before each call."""
    calls: dict[Callable[..., Any], list[Any]] = {}

    def record(frame: FrameType, _: str, __: Any) -> None:
        function = wanted.get(frame.f_code)
        if function is not None and len(calls.setdefault(function, [])) < copies:
            sys.settrace(None)
            names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
            calls[function].append(copy.deepcopy([frame.f_locals[name] for name in names]))
            sys.settrace(record)

    sys.settrace(record)  # a trace function that returns None sees calls only; a profile function would see returns too
    try:
        yield calls
    finally:
        sys.settrace(None)


def some_request(items: int) -> Request:
    """A request for one of these items."""
    return Request(np.arange(items), 1, NONE, NONE, np.zeros((items, 0)), 0, np.arange(items), key=0)


SEARCHED = (
    TOPICS, np.array([0.4, 0.3, 0.2, 0.1]), 0, 0.6,
    SearchPath(np.full(3, -1), np.zeros((3, 12)), np.zeros((3, 4)), np.ones(3)), np.zeros(3, dtype=np.int64), 1.0,
)  # fmt: skip


def flat(value: Any) -> list[bytes]:
    """All numbers in a value, as bytes."""
    if isinstance(value, tuple | list):
        return [part for element in value for part in flat(element)]
    return [np.asarray(value).tobytes()]


def test_source_and_machine_code_of_every_helper_agree() -> None:
    helpers = toplist_helpers(of_logs=False)
    with recorded(helpers, copies=0) as by_contract:
        for name in toplist.catalogue():
            policy = make(name)
            world = Fixed(NINE, 3, np.eye(9) if policy.capabilities().needs_features else ())
            setup = RunSetup.of(policy, world, DCM([0.6, 0.9, 0.3]), OneSample(), 240)  # as in the contract
            Player(setup, 1, np.array([240]), compiled=False).play(150)  # which plays on to the last step
    left = {code: function for code, function in helpers.items() if function not in by_contract}
    with recorded(left, copies=3) as calls:
        for named, world, users, start, steps in SITUATIONS.values():
            setup = RunSetup.of(make(named), world, users, start, steps)
            Player(setup, 3, np.array([steps]), compiled=False).play(steps)
        KLUCB().exact(Everything().begin(Problem(3, 1)), some_request(3))
        some, many = some_request(MANY)._replace(candidates=np.arange(3)), Problem(MANY, 1)
        draw_everything(Everything().begin(many), BetaPosterior().scratch(many), some, 5)
        plain(search)(*SEARCHED)
        draw_lots_in_bulk(5, np.arange(3), np.zeros(3, dtype=np.int64))
        find_small_lots(5, np.arange(300), np.arange(300) % 3 > 0, -(1 << 62), np.zeros(300, dtype=np.int64))
        digest(np.arange(53, dtype=np.uint8), np.array([9, 30, 11]), np.array([True, False, False]), digest_scratch(),
               np.zeros(3, dtype=np.int64))  # fmt: skip
        for gapped in (some_request(9), some_request(9)._replace(present=np.arange(9) != 4)):
            leave_out(gapped._replace(exceptions=np.array([3, 5])), np.zeros(9), -1.0)
            assert not is_eligible(gapped._replace(exceptions=np.array([3, 5])), 5, 0)
        for fill in (fill_plus_plus, fill_moss):
            fill(np.array([0.0, 2.0, 9.0]), np.array([0.0, 1.0, 4.0]), 20.0, np.zeros(3))
        variance_tangent(9.0, 4.0, 1.5)
        kl_step(*np.array([0.2, 0.8, 0.125, 0.04], dtype=np.float32))  # elsewhere the last bit may differ: an estimate
        few = Everything(0.4, 5.0).begin(Problem(9, 3))
        chosen, scores = np.zeros(3, dtype=np.int64), np.zeros(3)
        choose_by_estimates(few, early_scratch(Problem(9, 3)), some_request(9), 2.0, chosen, scores)
        fill_click_probabilities(np.array([0.5, -1.0]), np.ones((3, 2)), np.zeros(3))
        slate, page = empty_slate(3), empty_page(3)
        slate.size[0], slate.items[:2], page.weight[1] = 2, (4, 1), 0.5
        note_examined(slate, page, np.zeros(9, dtype=bool))
    compare(left, calls)


def compare(wanted: dict[CodeType, Callable[..., Any]], calls: dict[Callable[..., Any], list[Any]]) -> None:
    """Source and machine code of all these helpers agree, on the arguments of their calls."""
    assert sorted(map(full_name, set(wanted.values()) - set(calls))) == []
    for function, several in calls.items():
        machine_code = compiled(function)
        for arguments in several:
            here, there = copy.deepcopy(arguments), copy.deepcopy(arguments)
            assert flat(function(*here)) == flat(machine_code(*there)), full_name(function)
            assert flat(here) == flat(there), full_name(function)


def full_name(function: Callable[..., Any]) -> str:
    """Several helpers have the same name."""
    return f"{function.__module__}.{function.__qualname__}"


def test_source_and_machine_code_of_every_helper_of_click_logs_agree() -> None:
    helpers, random = toplist_helpers(of_logs=True), np.random.default_rng(3)
    with recorded(helpers, copies=3) as calls:
        for name in LOG_MODELS:
            model: Any = MODELS[name]._replace(positions=4)  # type: ignore[attr-defined]  # a NamedTuple
            coins = model.coins()
            own, shared = random.uniform(0.1, 0.9, (1, 6, len(coins.own))), random.uniform(0.2, 0.9, len(coins.shared))
            patterns = compress(sample_log(model, own, shared, shuffled_lists(1, 6, 4, 120, seed=1), seed=2))
            theta, work = np.concatenate([own.ravel(), shared]), workspace(4)
            lists = patterns.start, patterns.pair, patterns.click, patterns.weight, patterns.query
            rows = FitRows(*lists, own.size, 0)
            plain(expect_rows)(model, theta, rows, CoinSums(np.zeros(len(theta)), np.zeros(len(theta))), work)
            into = Partition(patterns, model, coin_prior(coins, {}), False, shared).no_information()
            plain(curve_rows)(model, theta, rows, into, empty_derivatives(4), work)
    compare(helpers, calls)


def test_numbers_wrap_around_as_machine_integers_do() -> None:
    wrapped = compiled(lambda x, y: wrap(x * y))
    for x, y in [(3, 4), (2**62, 2), (-(2**63), 1), (2**63 - 1, 2**63 - 1), (-(2**40), 2**40 + 1)]:
        assert wrap(x * y) == wrapped(x, y)


def test_functions_for_calls_from_python_are_compiled_for_long_arrays() -> None:
    for length in (BULK - 1, BULK):
        here, there = np.zeros((2, length), dtype=np.int64)
        draw_lots(5, np.arange(length), here)
        with recorded({draw_lots.__code__: draw_lots}, copies=0) as calls:
            draw_lots_in_bulk(5, np.arange(length), there)
        assert here.tolist() == there.tolist()
        assert (draw_lots in calls) == (length < BULK)

"""What the service promises, in short; `make promises` has the long forms, and prints their figures."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.server import free_port
from forking import ForkedProcess
from promises.broken import Broken, NoAnswer
from promises.callers import Caller, LibraryCaller
from promises.catalogue import PROMISES, Promise
from promises.cluster import Played, check_figures
from promises.cluster_drama import Kills
from promises.history import Call, History
from promises.journal import Journal, Learned, Listed, Log, audit
from promises.regret import judged
from promises.stalls import Stalls

from toplist.service.client import Retries

Figure = Callable[[str, str], None]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if not promise.tested])
def test_promise_is_kept(name: str, monkeypatch: pytest.MonkeyPatch, record_property: Figure) -> None:
    if name != "kills":  # one of the kills is to come during the start, which is soon over in a forked process
        monkeypatch.setattr("benchmarks.server.Server.popen", ForkedProcess)
    record_property("figure", f"{name}: {PROMISES[name].kept(short=True)}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sizes"), [("cluster_crashes", {"episodes": 1}), ("releases", {})])
def test_a_planted_fault_is_noticed(name: str, sizes: dict[str, float], record_property: Figure) -> None:
    record_property("figure", f"{name}, {PROMISES[name].fault}: noticed: {PROMISES[name].noticed(**sizes)}")


# The checks can fail.


def test_a_server_that_is_silent_is_not_waited_for_forever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection
        caller = Caller(silent.getsockname()[1], patience=0.05)
        with pytest.raises(NoAnswer, match="did not resolve"):
            asyncio.run(asyncio.wait_for(caller.ask("GET", "/readyz"), 20.0))
    assert caller.unanswered == 1


def test_who_asks_as_the_client_library_gives_up_as_it_does() -> None:
    async def ask() -> None:
        caller = LibraryCaller(free_port(), free_port(), seed=1)
        try:
            await caller.ask("GET", "/readyz")
        finally:
            assert caller.tries == 1 + Retries().most
            await caller.close()

    with pytest.raises(Broken, match="GET /readyz None failed after 6 retries"):
        asyncio.run(asyncio.wait_for(ask(), 20.0))


def test_figures_of_a_cluster_that_are_too_bad_are_noticed() -> None:
    waits = {"restart": [0.1, 2.5, 1.9]}
    played = Played(0, waits, Counter(), 1, 0, 0, Stalls(""))
    check_figures(played, 1, 2.0)
    with pytest.raises(Broken, match=r"median longest gap of restart is 1\.90 s, not under 1 s"):
        check_figures(played, 1, 1.0)
    with pytest.raises(Broken, match="1 episodes met a fence, not 2, so they show too little"):
        check_figures(played, 2, 2.0)


@pytest.mark.parametrize("problem", [None, NoAnswer("the machine is busy")])
def test_a_planted_fault_is_noticed_only_by_what_it_did(problem: NoAnswer | None) -> None:
    def check(_folder: Path, **_sizes: object) -> str:
        if problem is not None:
            raise problem
        return "all is well"

    with pytest.raises(Broken, match="a fault was not noticed"):
        Promise("", check, {}, {}, fault="a fault").noticed()


def memories() -> tuple[Journal, Log]:
    """Two lists, of which one was clicked, as callers and the store have them in mind."""
    journal, log = Journal(), Log()
    for name in ("one", "other"):
        journal.listed({"impression": name, "items": ["a", "b"], "segment": None, "deferred": False}, f"request {name}")
        log.lists[name] = Listed(("a", "b"), None, f"request {name}")
        log.learned[name].append(Learned(frozenset({2} if name == "one" else ()), "window", 0))
    journal.reporting("one", [2])
    journal.reported({"impression": "one", "counted": True}, [2])
    return journal, log


def test_memories_that_agree_pass() -> None:
    audit(*memories())


FAULTS: dict[str, Callable[[Journal, Log], object]] = {
    "lists lost": lambda _, log: log.lists.pop("one"),
    "lists lost or changed": lambda _, log: log.lists.update(one=Listed(("b", "a"), None, "request one")),
    "requests with two lists": lambda _, log: log.lists.update(other=Listed(("a", "b"), None, "request one")),
    "learned twice": lambda _, log: log.learned["one"].append(log.learned["one"][0]),
    "never closed": lambda _, log: log.learned.pop("other"),
    "learned and dropped": lambda _, log: log.dropped.add("one"),
    "dropped though they were shown": lambda _, log: log.dropped.update({"other"} if log.learned.pop("other") else ()),
    "clicks lost": lambda journal, _: journal.counted["one"].add(1),
    "that nobody sent": lambda journal, _: journal.sent["one"].clear(),
    "that were refused": lambda journal, _: journal.refused.update(one=journal.counted.pop("one")),
}


@pytest.mark.parametrize("found", FAULTS)
def test_memories_that_differ_are_told_apart(found: str) -> None:
    journal, log = memories()
    FAULTS[found](journal, log)
    with pytest.raises(Broken, match=found):
        audit(journal, log)


LISTS, ITEMS, CLICKS = "/v1/rankings/a/lists", "/v1/rankings/a/items", "/v1/impressions/one/clicks"


def shown(begun: float, impression: str, *items: str, request_id: str | None = None) -> Call:
    answer = {"impression": impression, "items": list(items)}
    return Call(begun, begun + 1.0, "POST", LISTS, {"request_id": request_id}, answer)


def removed(begun: float, item: str) -> Call:
    return Call(begun, begun + 1.0, "POST", f"{ITEMS}/remove", {"ids": [item]}, {"removed": 1})


def put(begun: float, item: str) -> Call:
    return Call(begun, begun + 1.0, "PUT", ITEMS, {"items": [{"id": item}]}, {"added": 1})


def reported(begun: float, *clicks: int, final: bool, counted: bool) -> Call:
    return Call(begun, begun + 1.0, "PUT", CLICKS, {"clicks": list(clicks), "final": final}, {"counted": counted})


HISTORIES: dict[str, list[Call]] = {
    "made the lists": [shown(0.0, "one", "x", request_id="q"), shown(2.0, "two", "x", request_id="q")],
    "and then": [shown(0.0, "one", "x", request_id="q"), shown(2.0, "one", "y", request_id="q")],
    "got the same list": [shown(0.0, "one", "x"), shown(2.0, "one", "x")],
    "after its removal": [put(0.0, "x"), removed(2.0, "x"), shown(3.1, "one", "x")],
    "before it was put": [shown(0.0, "one", "x"), put(1.1, "x")],
    "after the final report": [
        reported(0.0, 1, final=True, counted=True),
        reported(1.1, 1, 2, final=False, counted=True),
    ],
    "within the window of its list": [shown(0.0, "one", "x"), reported(2.0, 1, final=False, counted=False)],
}


@pytest.mark.parametrize("found", HISTORIES)
def test_a_history_that_no_sequence_explains_is_noticed(found: str) -> None:
    with pytest.raises(Broken, match=found):
        History(HISTORIES[found], window=10.0).check()


def test_a_history_of_requests_at_the_same_time_passes() -> None:
    History([
        put(0.0, "x"), shown(0.5, "one", "x"), removed(2.0, "x"), shown(2.9, "two", "x"), shown(3.1, "three", "y"),
        reported(4.0, 1, final=True, counted=True), reported(4.5, 2, final=True, counted=True),
        reported(6.0, 1, final=True, counted=True), reported(7.1, 2, 3, final=True, counted=False),
    ], window=10.0).check()  # fmt: skip


def test_a_request_without_an_answer_may_take_effect_later() -> None:
    History([put(0.0, "x")._replace(tries=2), removed(2.0, "x"), shown(9.0, "one", "x")]).check()


def test_a_history_of_many_requests_is_checked_in_one_pass() -> None:
    """As many as of the long forms: with a second loop over all requests this would take hours."""
    calls: list[Call] = []
    for number in range(20_000):
        begun, impression = number / 10, f"impression-{number}"
        calls += [put(begun, f"guest-{number}"), shown(begun + 1.1, impression, f"guest-{number}", "x")]
        report = reported(begun + 2.2, 1, final=True, counted=True)
        calls += [report._replace(path=f"/v1/impressions/{impression}/clicks"), removed(begun + 3.3, f"guest-{number}")]
    History(calls, window=10.0).check()
    calls.append(shown(3000.0, "late", "guest-7"))
    with pytest.raises(Broken, match="guest-7 of a is on a list that was asked for after its removal"):
        History(calls, window=10.0).check()


def test_another_regret_is_noticed() -> None:
    chance = np.random.default_rng(8)
    judged(chance.normal(20.0, 2.0, 50), chance.normal(20.0, 2.0, 1000), 100)
    for other in (chance.normal(22.0, 2.0, 50), chance.normal(20.0, 5.0, 50)):
        with pytest.raises(Broken, match=r"p = 0\.00"):
            judged(other, chance.normal(20.0, 2.0, 1000), 100)


def test_how_long_rankings_wait_after_the_database_is_back_without_the_times_it_is_away() -> None:
    first, second = (f"/v1/rankings/{name}/lists" for name in ("first", "second"))
    calls = [shown(begun, f"list {begun}", "x") for begun in (9.5, 10.5, 20.5)]  # each takes a second
    calls = [call._replace(path=path) for call, path in zip(calls, (first, first, second), strict=True)]
    assert History(calls[:1]).until_all_answer([(8.0, 9.0)]) == [1.5]
    assert History(calls).until_all_answer([(8.0, 10.0), (12.0, 19.0)]) == [4.5, 2.5]


def test_time_in_which_no_server_is_ready() -> None:
    kills = Kills(servers=2)
    kills.away = [(0, 1.0, 4.0), (1, 2.0, 3.0), (1, 3.0, 6.0)]  # the second one is killed again while it starts
    assert [kills.time_without_server(*times) for times in ((0.0, 10.0), (2.5, 3.5), (4.0, 6.0))] == [2.0, 1.0, 0.0]
    assert [kills.within(*times) for times in ((0.0, 10.0), (2.5, 3.5), (4.0, 6.0))] == [3, 1, 0]

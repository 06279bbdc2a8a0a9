"""Reports: learned from exactly once, whatever comes how often and when, and every one gets an answer."""

import asyncio
import itertools
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from running import BY_FEATURES, WINDOW, Clock, at_work, events, front, items, learned, run, shown, told

from toplist.core.item_id import ItemId
from toplist.service.errors import NotFound, Refused
from toplist.service.live.impression_state import report_in_positions
from toplist.service.log.events import MergedReport
from toplist.service.log.impression_id import ImpressionIds, id_text, parse_id
from toplist.service.store.row_kinds import LEARN
from toplist.service.wire import Item, RankingSpec, Report

PLACES = st.integers(1, 5)
REPORTS = st.builds(
    MergedReport,
    clicks=st.sets(PLACES).map(lambda places: tuple(sorted(places))),
    left=st.none() | PLACES,
    seen=st.none() | st.dictionaries(PLACES, st.floats(0, 1)).map(lambda seen: dict(sorted(seen.items()))),
    final=st.booleans(),
)


@given(REPORTS, REPORTS, REPORTS)
def test_merging_takes_order_and_repetition_as_nothing(a: MergedReport, b: MergedReport, c: MergedReport) -> None:
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(a) == a == a.merge(MergedReport())
    assert a.merge(b).contains(a)
    assert a.contains(b) == (replace(a.merge(b), final=False) == replace(a, final=False))


def test_a_final_report_is_learned_at_once_and_no_other_is(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            first, second = await shown(service), await shown(service)
            assert (await told(service, first, 1)).counted
            assert await learned(service) == 0
            assert (await told(service, second, second.items[2], final=True)).counted
            assert await learned(service) == 1
            found = await service.queries.impression(second.impression)
            assert (found.state, found.clicks, found.reason) == ("learned", [3], "final")
            assert (await service.queries.impression(first.impression)).state == "open"

    run(play())


def test_each_report_ten_times_in_any_order_is_learned_once_with_one_answer(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            lists = [await shown(service) for _ in range(10)]
            reports = [
                (shown.impression, report)
                for shown in lists
                for report in (Report(clicks=[1]), Report(clicks=[1, 3]), Report(clicks=[1, 3], final=True))
            ]
            sent = [*reports * 10]
            random.Random(1).shuffle(sent)
            answers = await asyncio.gather(*(service.impressions.report(*one) for one in sent))
            assert all(answer.counted for answer in answers)
            assert len({answer.impression: answer for answer in answers}) == 10
            assert await learned(service) == 10
            kinds = [event.kind for event in await events(service)]
            assert kinds.count(LEARN) == 10

    run(play())


def test_what_comes_after_the_window_is_late_unless_it_was_known(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            reply = await shown(service)
            assert (await told(service, reply, 2)).counted
            clock.pass_(WINDOW)
            late = await told(service, reply, 1, 2)  # not closed yet, but its window is over
            assert (late.counted, late.why) == (False, "late")
            assert late == await told(service, reply, 1, 2)
            assert (await told(service, reply, 2)).counted
            assert (await told(service, reply, 2, final=True)).counted
            assert (await told(service, reply)).counted
            assert (await service.queries.impression(reply.impression)).clicks == [2]
            assert await service.impressions.close_due() == 0
            assert await learned(service) == 1

    run(play())


def test_what_a_final_report_does_not_say_contradicts_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            await told(service, reply, 1, final=True)
            for more in ((2,), (1, 2)):
                answer = await told(service, reply, *more, final=True)
                assert (answer.counted, answer.why) == (False, "contradicts")
            assert (await told(service, reply, 1)).counted
            assert not (await told(service, reply, 1, left=2)).counted
            assert await learned(service) == 1

    run(play())


def test_an_impression_without_clicks_is_learned_when_its_window_closes(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            first = await shown(service)
            clock.pass_(WINDOW / 2)
            second = await shown(service)
            assert await service.impressions.close_due() == 0
            clock.pass_(WINDOW / 2)
            assert await service.impressions.close_due() == 1
            assert (await service.queries.impression(first.impression)).reason == "window"
            assert (await service.queries.impression(second.impression)).state == "open"
            clock.pass_(WINDOW)
            assert await service.impressions.close_due() == 1
            estimates = await service.queries.estimates("front")
            assert estimates.learned == 2
            assert sum(row.examined or 0 for row in estimates.items) == 6  # no click says something of all places

    run(play())


def test_a_deferred_list_has_its_window_from_when_it_is_shown_and_is_dropped_if_it_never_is(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            activated, clicked, never = [await shown(service, deferred=True) for _ in range(3)]
            assert activated.deferred
            clock.pass_(WINDOW - 1)
            for _ in range(2):
                assert (await service.impressions.activate(activated.impression)).counted
            assert (await told(service, clicked, 1)).counted
            clock.pass_(2)
            assert await service.impressions.close_due() == 1
            assert (await service.queries.impression(never.impression)).state == "dropped"
            for answer in (await told(service, never, 1), await service.impressions.activate(never.impression)):
                assert (answer.counted, answer.why) == (False, "dropped")
            assert {(await service.queries.impression(one.impression)).state for one in (activated, clicked)} == {
                "open"
            }
            clock.pass_(WINDOW)
            assert await service.impressions.close_due() == 2
            assert await learned(service) == 2
            assert (await service.impressions.activate(activated.impression)).counted

    run(play())


def test_clicks_of_any_age_are_classified_by_their_age_alone(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            draw = random.Random(5)
            made = [(await shown(service), draw.uniform(0, 2 * WINDOW), draw.randint(1, 3)) for _ in range(60)]
            began = clock.now
            for reply, age, place in sorted(made, key=lambda one: one[1]):
                clock.now = began + round(age * 1000)
                if draw.random() < 0.5:
                    await service.impressions.close_due()
                assert (await told(service, reply, place)).counted == (age * 1000 < WINDOW * 1000)
            clock.pass_(WINDOW)
            await service.impressions.close_due()
            assert await learned(service) == 60
            for reply, age, place in made:
                assert (await service.queries.impression(reply.impression)).clicks == ([place] if age < WINDOW else [])

    run(play())


def test_unknown_impressions_are_not_found(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for unknown in (id_text(bytes(16)), "nonsense", "", (await shown(service)).impression.replace("-", "")):
                with pytest.raises(NotFound, match="no such impression"):
                    await service.impressions.report(unknown, Report())
                with pytest.raises(NotFound):
                    await service.impressions.activate(unknown)
                with pytest.raises(NotFound):
                    await service.queries.impression(unknown)

    run(play())


@pytest.mark.parametrize(
    ("report", "field"),
    [
        ({"clicks": [1, 4]}, "/clicks/1"),
        ({"clicks": ["item-99"]}, "/clicks/0"),
        ({"left": 9}, "/left"),
        ({"clicks": [3], "left": 2}, "/left"),
        ({"seen": [1, 8]}, "/seen/1"),
        ({"seen": {"7": 0.5}}, "/seen/7"),
        ({"seen": {"a/b": 0.5}}, "/seen/a~1b"),
        ({"seen": {"01": 0.5}}, "/seen/01"),
        ({"seen": {"\u0661": 0.5}}, "/seen/\u0661"),
        ({"seen": {"9" * 5000: 0.5}}, "/seen/" + "9" * 5000),
    ],
)
def test_what_does_not_fit_the_list_is_refused_and_changes_nothing(
    tmp_path: Path, report: dict[str, Any], field: str
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            with pytest.raises(Refused) as refused:
                await service.impressions.report(reply.impression, Report(**report, final=True))
            assert refused.value.field == field
            assert (await service.queries.impression(reply.impression)).state == "open"

    run(play())


def test_what_may_be_a_position_or_an_item_is_refused_as_a_key_of_seen(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await service.rankings.create(RankingSpec(name="front", positions=3))
            await service.items.put("front", [Item(id=name) for name in ("1", "2", "3", "17")])
            reply = await shown(service, pins={"1": "3", "2": "2", "3": "17"})
            with pytest.raises(Refused, match="stands for the positions 1 and 3") as refused:
                await service.impressions.report(reply.impression, Report(seen={"3": 0.5}))
            assert refused.value.field == "/seen/3"
            await service.impressions.report(reply.impression, Report(seen={"1": 1.0, "2": 0.5, "17": 0.25}))
            assert (await service.queries.impression(reply.impression)).seen == {"1": 1.0, "2": 0.5, "3": 0.25}

    run(play())


def test_what_is_learned_is_counted_once_whoever_waits_for_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            several = [Report(clicks=[1]), Report(clicks=[2]), Report(clicks=[1, 2, 3], final=True)]
            await asyncio.gather(*(service.impressions.report(reply.impression, report) for report in several))
            assert service.learned == {"final": 1}
            later = await shown(service, deferred=True)
            await asyncio.gather(
                service.impressions.activate(later.impression),
                service.impressions.report(later.impression, Report(clicks=[1], final=True)),
            )
            assert service.learned == {"final": 2}

    run(play())


@pytest.mark.parametrize(
    "report", [{"clicks": [1] * 2001}, {"seen": [1] * 2001}, {"seen": {str(n): 0.5 for n in range(2001)}}]
)
def test_a_report_has_a_largest_number_of_entries(report: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match="length <= 2000"):
        msgspec.json.decode(msgspec.json.encode(report), type=Report)


def test_the_largest_report_of_the_longest_list_is_soon_read() -> None:
    class Seldom(list[ItemId]):
        def __contains__(self, _: object) -> bool:
            raise AssertionError("a list is not looked through for each entry")

    names = Seldom(f"item-{n}" for n in range(1000))
    last: Any = ["item-999"] * 2000
    assert report_in_positions(Report(clicks=last, seen=last), names).clicks == (1000,)
    assert report_in_positions(Report(seen={"item-999": 0.5}), names).seen == {1000: 0.5}


def test_left_and_seen_are_learned_by_policies_that_go_by_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "dcm-lsb", features=4, count=0)
            await service.items.put("front", items(6, BY_FEATURES))
            reply = await shown(service)
            await told(service, reply, 1, left=1)
            await told(service, reply, 1, left=2, seen=[1, 2])
            await told(service, reply, 2, seen={reply.items[2]: 0.25}, final=True)
            found = await service.queries.impression(reply.impression)
            assert (found.clicks, found.left, found.seen) == ([1, 2], 2, {"1": 1.0, "2": 1.0, "3": 0.25})
            assert await learned(service) == 1

    run(play())


def test_ids_are_ordered_and_of_version_7() -> None:
    numbers = ImpressionIds()
    moments = [5, 5, 6, 4, *itertools.repeat(7, 5000), 7]
    ids = [numbers.next(moment) for moment in moments]
    assert ids == sorted(set(ids))
    for id in ids:
        assert id[6] >> 4 == 7
        assert id[8] >> 6 == 2
        assert parse_id(id_text(id)) == id
    assert int.from_bytes(ids[0][:6], "big") == 5


def test_the_ranking_of_an_impression_is_known_until_either_is_deleted(tmp_path: Path) -> None:
    async def work() -> None:
        async with at_work(tmp_path / "a.db") as service:
            await front(service)
            made = await shown(service)
            assert await service.queries.ranking_of(made.impression) == "front"
            assert await service.queries.ranking_of("019a8b5e-7c1f-7d3a-9b42-ffffffffffff") is None
        async with at_work(tmp_path / "a.db") as service:  # from the store
            assert await service.queries.ranking_of(made.impression) == "front"
            await service.rankings.delete("front")
            await front(service)  # another one of the same name
            assert await service.queries.ranking_of(made.impression) is None

    run(work())

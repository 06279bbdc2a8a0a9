"""What is kept and for how long: backups while running, retention, the export of the log, versions of the tables."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from running import (
    BY_FEATURES,
    POLICIES,
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    ranking_of,
    read,
    rebuilt,
    run,
    shown,
    state_of,
    store_name,
    told,
)

from toplist import InvalidInput
from toplist.cli import Exit, main
from toplist.service.errors import NotFound, Refused, StoreUnavailable
from toplist.service.http.history import Histories
from toplist.service.live import compiler, retention
from toplist.service.live.state import LiveState
from toplist.service.log import export, training, verify
from toplist.service.log.impression_id import id_text
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.queries import TableReader
from toplist.service.store.sqlite import SQLiteStore, connect
from toplist.service.wire import ListRequest, RankingChange, RankingSpec, Report
from toplist.support.files import import_optional


@pytest.mark.file
@pytest.mark.parametrize("policy", POLICIES)
def test_a_backup_while_running_is_a_store_like_any_other(policy: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, policy)
            for number in range(50):
                await told(service, await shown(service, segment=str(number % 2)), 1 + number % 3, final=True)
            waiting = await shown(service, segment="0", request_id="r")
            alive = await service.beliefs()
            await service.backup(tmp_path / "copy")
            await told(service, await shown(service, segment="0"), 1, final=True)
            with pytest.raises(Refused, match="already"):
                await service.backup(tmp_path / "copy")
            async with at_work(tmp_path / "copy") as again:
                for segment in ("0", "1"):
                    await again.queries.estimates("front", segment)
                assert await again.beliefs() == alive
                assert await shown(again, segment="0", request_id="r") == waiting
                assert (await told(again, waiting, 1, final=True)).counted
            assert check(tmp_path / "copy") == []

    run(play())


def test_what_is_old_is_forgotten_but_not_what_was_learned_from_it(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, learner_bytes=0) as service:
            await front(service, retention=1000.0, click_window=5000.0)
            old = [await shown(service, segment=str(n % 2), request_id=str(n)) for n in range(20)]
            for reply in old[:18]:
                await told(service, reply, 1)
                await told(service, reply, 1, final=True)
            clock.pass_(600)
            young = await shown(service, segment="0")
            await told(service, young, 2, final=True)
            assert await service.retention.forget_old() == 0
            clock.pass_(600)
            states: dict[Any, bytes] = {}
            for segment in ("0", "1"):
                await learned(service, segment)
                states |= await service.beliefs()
            assert await service.retention.forget_old() == 18
            assert await service.retention.forget_old() == 0
            for reply in old[:18]:
                with pytest.raises(NotFound):
                    await told(service, reply, 1)
            assert (await told(service, young, 2)).counted
            assert (await told(service, old[18], 1)).counted  # open still, so it is kept
            kinds = [event.kind for event in await events(service)]
            assert (kinds.count("list"), kinds.count("learned"), kinds.count("report")) == (3, 1, 1)
            assert kinds.count("forgotten") == 2
            assert (await shown(service, segment="0", request_id="0")).impression != old[0].impression
            assert (await shown(service, segment="0", request_id="18")).impression == old[18].impression
            assert await learned(service, "1") == 9
            assert (await service.beliefs())["front", "1"] == states["front", "1"]
            await told(service, old[19], 3, final=True)
        assert check(tmp_path / "db") == []
        assert [one.learned for one in rebuilt(tmp_path / "db")] == [10, 10]
        async with at_work(tmp_path / "db", clock) as service:
            assert await learned(service, "0") == 10
            last = max(event.seq for event in await events(service))
            clock.pass_(100_000)
            await service.impressions.close_due()
            clock.pass_(100_000)
            assert await service.retention.forget_old() > 0
            assert {event.kind for event in await events(service)} == {"ranking", "items", "learner", "forgotten"}
            await service.rankings.change("front", RankingChange(retention=None))
            assert max(event.seq for event in await events(service)) > last  # no number is ever used again

    run(play())


def test_the_log_comes_out_as_lines_of_json(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            reply = await shown(service, segment="k", request_id="r")
            await told(service, reply, 2)
            await told(service, reply, 2, 3, final=True)
            assert export.write_events(await events(service), tmp_path / "log.ndjson") == 6
            lines = [json.loads(line) for line in (tmp_path / "log.ndjson").read_text().splitlines()]
            assert [line["kind"] for line in lines] == ["ranking", "items", "learner", "list", "report", "learned"]
            assert [line["seq"] for line in lines] == list(range(1, 7))
            assert lines[3]["body"]["items"] == reply.items
            assert (lines[3]["segment"], lines[3]["impression"]) == ("k", reply.impression)
            assert lines[5]["body"] == {"merged": {"clicks": [2, 3], "final": True}, "reason": "final", "list": 4}
            assert [event.seq for event in await events(service, after=4)] == [5, 6]
            with pytest.raises(NotFound):
                await events(service, "nobody")

    run(play())


def test_an_export_has_every_event_in_either_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "toplist.db"

    async def play() -> None:
        async with at_work(file) as service:
            await front(service)
            await told(service, await shown(service, segment="k"), 1, final=True)
            await service.rankings.create(RankingSpec(name="side", positions=1))
            await service.items.put("side", items(2))
            await told(service, await service.lists.make("side", ListRequest()), final=True)

    run(play())
    lines, rows = tmp_path / "log.ndjson", tmp_path / "log.parquet"
    for target, more in ((lines, []), (rows, []), (tmp_path / "front.ndjson", ["--ranking", "front"])):
        assert main(["store", "export", str(target), "--store", store_name(file), *more]) == Exit.FINE
    assert "10 events" in capsys.readouterr().out
    events = [json.loads(line) for line in lines.read_text().splitlines()]
    table = import_optional("pyarrow.parquet", "parquet").read_table(rows).to_pylist()
    assert [row | {"body": json.loads(row["body"])} for row in table] == events
    assert {event["ranking"] for event in events} == {"front", "side"}
    assert [event for event in events if event["ranking"] == "front"] == [
        json.loads(line) for line in (tmp_path / "front.ndjson").read_text().splitlines()
    ]
    for target, more, said in (
        (tmp_path / "log.csv", [], "a file that ends in .ndjson or .parquet"),
        (lines, ["--ranking", "frnt"], "perhaps you mean 'front'"),
    ):
        assert main(["store", "export", str(target), "--store", store_name(file), *more]) == Exit.INPUT
        assert said in capsys.readouterr().err
    assert len(lines.read_text().splitlines()) == 10  # an export that fails leaves the older one


def test_parquet_is_refused_in_a_sentence_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str, *_: Any) -> Any:
        raise ImportError(module)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match=r'this needs pyarrow.*pip install "toplist\[parquet\]"'):
        export.write_parquet([], tmp_path / "log.parquet")


@pytest.mark.file
def test_tables_are_brought_to_the_latest_version_step_by_step_or_not_at_all(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", read_only=False)
    migrate(connection)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(SCRIPTS),)
    migrate(connection)
    more = (*SCRIPTS, "CREATE TABLE more (x); INSERT INTO more VALUES (1);", "CREATE TABLE broken (x); nonsense;")
    with pytest.raises(apsw.SQLError):
        migrate(connection, more)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(SCRIPTS) + 1,)
    assert connection.execute("SELECT * FROM more").fetchall() == [(1,)]
    assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'broken'").fetchall()
    connection.close()
    with pytest.raises(InvalidInput, match="use the toplist that wrote it, or a later one"):
        SQLiteStore(tmp_path / "db")


@pytest.mark.file
def test_a_file_that_is_no_store_is_refused_and_one_that_breaks_is_unavailable(tmp_path: Path) -> None:
    for text in (
        "import toplist",
        "this is no database, but a text that is long enough to be taken for a header " * 20,
    ):
        for name, kind in (
            ("db", "another kind of file"),
            ("mine.py", "a Python file, but .* policies of your own by"),
        ):
            (tmp_path / name).write_text(text)
            with pytest.raises(InvalidInput, match=f"is {kind}"):
                SQLiteStore(tmp_path / name)
            assert (tmp_path / name).read_text() == text
    store = SQLiteStore(tmp_path / "new")
    assert store.pragma("synchronous") == 2  # full
    assert store.pragma("journal_mode") == "wal"
    with closing(connect(tmp_path / "new", read_only=False)) as connection:
        connection.execute("DROP TABLE requests")
    with pytest.raises(StoreUnavailable, match="cannot be read"), closing(store.reader()) as reader:
        reader.requests([(1, "r")])
    store.close()


def test_the_log_comes_out_without_a_gap_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "EVENTS_PER_PAGE", 10)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(20):
                await shown(service)
            pages = await service.queries.event_pages("front")
            seqs = [event.seq for event in (await anext(pages)).events]
            for _ in range(60):
                await shown(service)
            seqs += [event.seq async for page in pages for event in page.events]
            assert seqs == list(range(1, await read(service, lambda reader: reader.last_seq()) + 1))

    run(play())


def test_a_check_beside_a_working_service_gives_no_false_alarm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(40):
                await told(service, await shown(service), 1, final=True)
            await service.stop()  # which keeps a snapshot
            await service.start()
            loop, run_on = asyncio.get_running_loop(), verify.run_to

            def beside_work(*given: Any) -> None:
                run_on(*given)
                asyncio.run_coroutine_threadsafe(work(), loop).result()

            async def work() -> None:
                await told(service, await shown(service), 1, final=True)

            monkeypatch.setattr(verify, "run_to", beside_work)
            assert await asyncio.to_thread(check, tmp_path / "db") == []
            assert await learned(service) == 43

    run(play())


def test_nothing_is_forgotten_early_where_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=86_400.0)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            right, clock.now = clock.now, 1000
            for _ in range(12):
                await told(service, await shown(service), 1, final=True)
        async with at_work(tmp_path / "db", clock) as service:
            for _ in range(13):
                await told(service, await shown(service), 1, final=True)
            clock.now = right
            clock.pass_(3600)
            await shown(service)
            times = [event.at for event in await events(service)]
            assert times == sorted(times)
            assert await service.retention.forget_old() == 0
            clock.pass_(86_400)
            await shown(service)
            assert await service.retention.forget_old() == 45

    run(play())


def test_a_policy_that_cannot_be_compiled_keeps_nobody_else_from_forgetting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            for name, policy in (("a", "cascade-ucb1"), ("b", "cascade-kl-ucb"), ("c", "cascade-ucb1")):
                await service.rankings.create(RankingSpec(name=name, positions=2, policy=policy, retention=100.0))
                await service.items.put(name, items(4))
                made = await service.lists.make(name, ListRequest())
                await service.impressions.report(made.impression, Report(final=True))
        clock.pass_(1000)
        inner = training.compile_policy

        def fails(setting: Any) -> None:
            if setting.spec.policy == "cascade-ucb1":
                raise MemoryError("so it is")
            inner(setting)

        monkeypatch.setattr(training, "compile_policy", fails)
        async with at_work(tmp_path / "db", clock) as service:
            await service.lists.make("b", ListRequest(segment="now"))
            with pytest.raises(MemoryError):
                await service.retention.forget_old()
            kinds = {name: [event.kind for event in await events(service, name)] for name in "abc"}
            assert [name for name in "abc" if "forgotten" in kinds[name]] == ["b"]
            await service.rankings.delete("b")
            with pytest.raises(MemoryError):
                await service.retention.forget_old()
            assert len(service.retention.next_learner) == 2

    run(play())


def test_what_is_known_to_be_compiled_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "MOST_KINDS", 3)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            for number in range(1, 9):
                spec = RankingSpec(name="front", positions=2, policy=f"cascade-ucb1(scale={number}.0)")
                await service.rankings.create(spec)
                await service.items.put("front", items(4))
                assert len((await shown(service)).items) == 2
                await service.rankings.delete("front")
                assert len(service.compiler) <= 3
            assert not service.is_compiling

    run(play())


def test_a_ranking_that_cannot_be_created_is_in_the_way_of_nobody_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "MOST_KINDS", 1)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, "top-rank", steps=1000)
            await shown(service)
            await service.rankings.create(RankingSpec(name="side", positions=2, policy="cascade-kl-ucb"))
            await service.items.put("side", items(4))
            await service.lists.make("side", ListRequest())  # so that the other kind is not known any more
            without_steps = RankingSpec(name="wrong", positions=2, policy="top-rank")
            creation = asyncio.create_task(service.rankings.create(without_steps))
            await asyncio.sleep(0)
            assert len((await shown(service)).items) == 3
            with pytest.raises(Refused, match="steps"):
                await creation

    run(play())


def test_history_reads_each_event_of_the_log_once_also_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "EVENTS_PER_PAGE", 2)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await service.rankings.create(RankingSpec(name="side", positions=1))
            await service.items.put("side", items(2))
            for _ in range(15):
                await told(service, await shown(service), 1, final=True)
            for _ in range(200):
                await service.lists.make("side", ListRequest())
            ranges: list[tuple[int, int]] = []
            inner = TableReader.events_of_kinds

            def noted(reader: TableReader, kinds: Sequence[str], after: int, until: int) -> Any:
                ranges.append((after, until))
                return inner(reader, kinds, after, until)

            monkeypatch.setattr(TableReader, "events_of_kinds", noted)
            histories = Histories(service)
            first = await histories.of("front")
            assert (first.lists, first.complete) == (15, False)
            second = await histories.of("front")
            assert (second.lists, second.complete) == (15, True)
            ranges.clear()
            await told(service, await shown(service), 1, final=True)
            assert (await histories.of("front")).lists == 16
            assert len(ranges) <= 2  # only what is new
            ranges.clear()
            await histories.of("side")
            assert ranges == []  # one pass over the log is for all rankings
            old = ranking_of(service).id
            assert histories.curve(old).lists == 16
            await service.rankings.delete("front")
            await service.rankings.create(RankingSpec(name="new", positions=1))
            assert (await histories.of("new")).lists == 0
            assert histories.curve(old).lists == 0  # it is dropped

    run(play())


def test_forgetting_lets_others_have_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=100.0)
            for number in range(25):
                await told(service, await shown(service, segment=str(number)), 1, final=True)
            clock.pass_(1000)
            await shown(service)
            sizes: list[int] = []
            inner = TableReader.learners

            def noted(reader: TableReader, ranking: int, after: int, limit: int) -> Any:
                found = inner(reader, ranking, after, limit)
                sizes.append(len(found))
                return found

            monkeypatch.setattr(TableReader, "learners", noted)
            before = service.commit_counts.commits
            assert await service.retention.forget_old() == 25
            assert sizes == [10, 10, 6]
            assert service.commit_counts.commits - before == 3
            monkeypatch.setattr(retention, "BATCHES_PER_RANKING", 2)
            for _ in range(2):
                assert await service.retention.forget_old() == 0
            assert sizes[3:] == [10, 10, 6]  # it goes on where it ended

    run(play())


def test_impressions_in_memory_are_looked_at_once_for_several_learners_that_forget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    looks: list[set[int]] = []
    forget = LiveState.forget

    def noted(state: LiveState, learners: set[int], seq: int) -> None:
        looks.append(learners)
        forget(state, learners, seq)

    monkeypatch.setattr(LiveState, "forget", noted)

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=1000.0)
            old = [await shown(service, segment=segment) for segment in "abc"]
            for reply in old:
                await told(service, reply, 1, final=True)
            waiting = await shown(service, segment="a")
            clock.pass_(2000)
            await shown(service, segment="a")
            assert await service.retention.forget_old() == 3
            assert [len(learners) for learners in looks] == [3]
            kept = {id_text(id) for id in state_of(service).impressions}
            assert waiting.impression in kept
            assert not kept & {reply.impression for reply in old}

    run(play())


def test_a_store_in_which_nothing_is_due_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, click_window=10.0)
            store, asked = service.transactions.store, list[int]()
            plainly = store.read

            async def read(work: Any) -> Any:
                asked.append(1)
                return await plainly(work)

            monkeypatch.setattr(store, "read", read)

            async def look() -> int:
                """Reads of the periodic work."""
                asked.clear()
                await service.impressions.close_all_due()
                await service.retention.purge_deleted()
                return len(asked)

            async def look_again() -> int:
                """After looks that may find something, and when to look next."""
                await look()
                await look()
                return await look()

            assert not await look_again()
            await service.impressions.activate((await shown(service, deferred=True)).impression)
            assert not await look_again()
            clock.pass_(10.1)
            assert not await look_again()
            assert service.learned.total() == 1
            await shown(service)
            clock.pass_(10.1)
            assert not await look_again()
            assert service.learned.total() == 2
            await service.rankings.delete("front")
            assert await service.retention.purge_deleted()

    run(play())

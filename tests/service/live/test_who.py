"""Events of changes say who made them, and what a ranking is does not depend on it."""

import json
from pathlib import Path

from running import at_work, check, events, front, items, run, shown, told

from toplist.service.wire import RankingChange


def test_events_say_who_and_learners_stay_the_same(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)  # by nobody: there are no keys
            await service.items.put("front", items(3, first=20), by="editor")
            await service.items.remove("front", ["item-20"], by="other")
            await told(service, await shown(service), 1, final=True)
            await service.rankings.change("front", RankingChange(policy="cascade-ucb1"), by="editor")
            log = [
                json.loads(bytes(event.body)) for event in await events(service) if event.kind in ("ranking", "items")
            ]
            assert [body.get("by") for body in log] == [None, None, "editor", "other", "editor"]
            assert check(tmp_path / "db", await service.beliefs()) == []
        async with at_work(tmp_path / "db") as service:
            assert (await service.queries.ranking("front")).policy == "cascade-ucb1"
            await service.rankings.delete("front", by="editor")
            while await service.retention.purge_deleted():
                pass
            left = await service.transactions.store.read(lambda reader: reader.events(1, 0, reader.last_seq()))
            assert [json.loads(event.body)["by"] for event in left] == ["editor"]

    run(play())

"""The service's own log can be evaluated: lists with propensities, exported, read and judged."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from running import at_work, front, run, shown, told

import toplist
from toplist.cli import main
from toplist.cli.exit_codes import Exit
from toplist.policies.fixed_list import ShowList
from toplist.service.log.export import events_of_store, write_events
from toplist.service.store.sqlite import SQLiteReader
from toplist.service.wire import ListReply

ATTRACTION = {"item-0": 0.2, "item-1": 0.6, "item-2": 0.4, "item-3": 0.1}
LISTS = 250


def test_the_log_of_an_exploring_ranking_says_what_a_fixed_list_would_have_earned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two positions, and clicks that are independent: the list of items 1 and 2 earns 0.6 + 0.4 clicks."""
    rng = np.random.default_rng(5)

    async def play() -> list[ListReply]:
        async with at_work(tmp_path / "db") as service:
            policy = "exploring(policy='cascade-kl-ucb', share=0.6)"
            await front(service, policy, count=4, positions=2, propensities=True)
            replies = []
            for _ in range(LISTS):
                replies.append(await shown(service))
                items = replies[-1].items
                clicked = [n + 1 for n, item in enumerate(items) if rng.uniform() < ATTRACTION[str(item)]]
                await told(service, replies[-1], *clicked, final=True)
            return replies

    replies = run(play())
    target = toplist.Ranker(list(ATTRACTION), 2, ShowList([1, 2]), name="fixed", compiled=False)
    target.save(tmp_path / "fixed.npz")
    for suffix in (".ndjson", ".parquet"):
        path = tmp_path / f"events{suffix}"
        with closing(SQLiteReader(tmp_path / "db")) as reader:
            write_events(events_of_store([reader], "front"), path)
        log = toplist.logs.read_log(path)
        assert len(log) == LISTS
        assert log.propensity is not None
        assert log.propensity.tolist() == [p for reply in replies for p in reply.propensities]  # type: ignore[union-attr]
        assert log.marginal is not None
        assert log.marginal.tolist() == [p for reply in replies for p in reply.marginals]  # type: ignore[union-attr]
        found = toplist.evaluate(log, target, ["ips", "iips", "rips"])
        for estimator in ("ips", "iips", "rips"):
            row = found[estimator].interval
            assert row.low < 1.0 < row.high, estimator
            assert row.high - row.low < 0.8
        assert main(["evaluate", str(path), "--policy", str(tmp_path / "fixed.npz"), "--estimator", "ips"]) == Exit.FINE
        assert "ips" in capsys.readouterr().out

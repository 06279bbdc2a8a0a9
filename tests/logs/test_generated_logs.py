"""Generated logs have the size that was asked for, and clicks as their truth says."""

from pathlib import Path

import numpy as np

from toplist.logs import read_log
from toplist.logs.generated import GeneratedLog


def test_parts_have_all_lists(tmp_path: Path) -> None:
    made = GeneratedLog(lists=1001, queries=7, items=6, positions=4)
    log = read_log(made.write_parts(tmp_path / "log", parts=3), strict=True)
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [f"part-000{n}.parquet" for n in range(3)]
    assert (len(log), len(log.queries), len(log.items)) == (1001, 7, 42)
    assert log.lengths.tolist() == [4] * 1001
    texts = read_log(made._replace(text_ids=True).write_parts(tmp_path / "texts", parts=1))
    np.testing.assert_array_equal(texts.click, log.click)
    assert all(str(item).startswith("item-") for item in texts.items)


def test_click_through_is_attraction_times_examination() -> None:
    """The expected and the observed number of clicks by position, of 20,000 lists: within 4 standard errors."""
    made = GeneratedLog(lists=20_000, queries=3, items=5, positions=3)
    attraction, examination = made.truth()
    ((query, shown, click),) = made.blocks()
    chance = np.take_along_axis(attraction[query], shown, axis=1) * examination
    error = np.sqrt((chance * (1 - chance)).sum(axis=0))
    assert (np.abs(click.sum(axis=0) - chance.sum(axis=0)) < 4 * error).all()

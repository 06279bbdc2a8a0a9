"""Fits of a log in memory and on disk agree, and temporary files are deleted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, FittedModel, fit_model, prepare_parts, stored_patterns
from toplist.logs.patterns import compress

MODELS = ["dbn", "ubm"]


def made_log(lists: int = 400, seed: int = 3) -> ClickLog:
    """Lists of one to four of six items, for seven queries."""
    rng = np.random.default_rng(seed)
    shown = [list(map(int, rng.permutation(6)[: rng.integers(1, 5)])) for _ in range(lists)]
    clicked = [[place + 1 for place in range(len(one)) if rng.random() < 0.35] for one in shown]
    return ClickLog.from_lists([f"q{n}" for n in rng.integers(0, 7, lists)], shown, clicked)


def parts_of(log: ClickLog, size: int) -> list[ClickLog]:
    return [log.take(np.arange(first, min(first + size, len(log)))) for first in range(0, len(log), size)]


def parameters(fitted: FittedModel) -> dict[object, object]:
    """All estimates with errors, by name."""
    own: dict[object, object] = {
        (fitted.queries[query], fitted.items[item]): (*fitted.own.value[row], *fitted.own.error[row])
        for row, (query, item) in enumerate(zip(fitted.pair_query, fitted.pair_item, strict=True))
    }
    shared = zip(fitted.shared.value[0], fitted.shared.error[0], strict=True)
    return own | dict(enumerate(shared))


def assert_equal(ours: FittedModel, theirs: FittedModel) -> None:
    one, other = parameters(ours), parameters(theirs)
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_allclose(np.asarray(one[name]), np.asarray(other[name]), rtol=0, atol=1e-9)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, abs=1e-9)
    assert ours.converged


@pytest.mark.parametrize("name", MODELS)
def test_on_disk_as_in_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_patterns, "SEGMENT", 40)  # several segments per partition
    log = made_log()
    with prepare_parts(parts_of(log, 70), folder=tmp_path, partitions=3) as data:
        assert sum(each.lists for each in data.summaries()) == 400
        assert_equal(fit_model(log, name), fit_model(data, name))
    assert list(tmp_path.iterdir()) == []


def test_nothing_stays_on_disk_if_reading_fails(tmp_path: Path) -> None:
    def failing() -> object:
        yield from parts_of(made_log(), 70)
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        prepare_parts(failing(), folder=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no parts"):
        prepare_parts([], folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_equal_lists_are_one_row() -> None:
    log = ClickLog.from_lists(
        ["a", "b", "a", "a", "a"], [[1, 2], [1, 2], [1, 2], [2, 1], [1, 2]], [[1], [1], [1], [1], [2]]
    )
    found = compress(log)
    assert found.weight.tolist() == [2, 1, 1, 1]
    assert found.pair.tolist() == [0, 1, 1, 0, 0, 1, 2, 3]
    assert found.query.tolist() == [0, 0, 0, 1]
    assert compress(log, merge=False).weight.tolist() == [1] * 5

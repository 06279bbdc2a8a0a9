"""A fit that begins with a sample of its lists ends at the same maximum."""

import numpy as np
import pytest

from toplist.logs import ClickLog, FitSettings, IdTable, prepare_log
from toplist.logs.fit_model import collect, fit_coins
from toplist.logs.fit_value import fit_predictor
from toplist.logs.fitting import sample_start


def random_log(lists: int = 2000, items: int = 6, positions: int = 4) -> ClickLog:
    rng = np.random.default_rng(2)
    item = np.argsort(rng.random((lists, items)), axis=1)[:, :positions].astype(np.int32)
    attracted = rng.random(item.shape) < np.linspace(0.6, 0.1, items)[item]
    leaves = rng.random(item.shape) < 0.5
    gone = np.cumsum(attracted & leaves, axis=1) - (attracted & leaves) > 0
    return ClickLog(
        IdTable(["q"]), IdTable(range(items)), np.zeros(lists, dtype=np.int32),
        np.arange(0, lists * positions + 1, positions), item.ravel(), (attracted & ~gone).astype(np.uint8).ravel(),
    )  # fmt: skip


@pytest.mark.parametrize("observed", [10, 10_000])
def test_the_maximum_is_the_same(observed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the second derivatives of the sample, and with those of all lists."""
    monkeypatch.setattr(sample_start, "OBSERVED", observed)
    data, found = prepare_log(random_log()), {}
    for sample in (0, 200):
        maximiser, model, priors = fit_coins(data, "dcm", None, False, FitSettings(), sample=sample)
        assert maximiser.found.converged
        fitted = collect(maximiser, data, model, priors, False, "information")
        over_all = [each for each in maximiser.found.history if each.kind == "EM"]
        found[sample] = fitted, len(over_all)
    (plain, many), (quick, few) = found[0], found[200]
    assert few < many
    assert quick.own.value == pytest.approx(plain.own.value, abs=2e-6)
    assert quick.shared.value[0, :-1] == pytest.approx(plain.shared.value[0, :-1], abs=2e-6)
    assert quick.own.error == pytest.approx(plain.own.error, rel=1e-4)


def test_a_predictor_is_near_the_maximum() -> None:
    log = random_log(4000)
    settings = FitSettings(iterations=20, newton=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toplist.logs.fit_value.SAMPLE", 100)
        quick = fit_predictor(log, "dcm", settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toplist.logs.fit_value.SAMPLE", 0)
        plain = fit_predictor(log, "dcm", settings)
    assert len(quick.history) < len(plain.history)
    assert quick.own.value == pytest.approx(plain.own.value, abs=0.01)

"""The script for machines with a GPU, on a stand-in: what it compares, and that it tells differences."""

from typing import Any

import on_device
import pytest
from catalogue_problems import FURTHER, OTHERS
from host_device import HostDevice, install_stand_ins
from on_device import check, line_of


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> HostDevice:
    """A stand-in, for few runs of few steps."""
    monkeypatch.setattr(on_device, "CHECKED", 2)
    monkeypatch.setattr(on_device, "STEPS", 12)
    found: HostDevice = install_stand_ins(monkeypatch, [HostDevice()])[0]
    return found


@pytest.mark.parametrize("name", [*OTHERS, *FURTHER])
def test_further_problems_play_the_same_lists(name: str, device: HostDevice) -> None:
    row = check(name)
    assert line_of(row).startswith(f"{name}: bit-equal, 0 of 2 runs, 0.000 errors")
    assert device.launches


def test_a_difference_is_told(device: HostDevice) -> None:
    launch = device.launch

    def play_otherwise(kernel: Any, batch: Any, *until: int) -> None:
        launch(kernel, batch, *until)
        batch.curves[1, -1, 0] += 0.5

    device.launch = play_otherwise  # type: ignore[method-assign, assignment]
    row = check("cascade-ucb1, 100 items")
    assert (row["equal"], row["runs_that_differ"]) == (False, 1)
    assert row["difference_in_errors"] > 0
    assert "DIFFERS" in line_of(row)

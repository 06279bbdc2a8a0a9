"""Results of the fake experiments, played once and copied for every test that needs them."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from toplist.cli import Exit, main


@pytest.fixture(scope="session")
def played_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the results; the first test that needs them plays into it."""
    return tmp_path_factory.mktemp("played") / "results"


@pytest.fixture
def results(made_up: dict[str, Any], tmp_path: Path, played_results: Path) -> Path:
    """A folder of results of all experiments except those that need data; `made_up` defines them."""
    assert made_up
    if not played_results.exists():
        assert main(["reproduce", "--all", "--quiet", "--jobs", "1", "--results", str(played_results)]) == Exit.FINE
    return Path(shutil.copytree(played_results, tmp_path / "results"))

"""The package: fast to import, every public name present and documented."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import toplist
from toplist.cli.exit_codes import Exit

ROOT = Path(__file__).parent.parent
WITHOUT_UNIX = """
for module in ("fcntl", "grp", "pwd", "resource", "termios", "uvloop"):
    sys.modules[module] = None
"""


def test_import_loads_no_heavy_modules() -> None:
    program = "import sys, toplist; print({'numba', 'numpy', 'matplotlib', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_it_works_without_what_only_unix_has() -> None:
    """As on Windows, except for the service, which says that it needs Linux or macOS."""
    program = f"""
import os, signal, sys
{WITHOUT_UNIX}
for name in ("fork", "register_at_fork", "geteuid", "getuid", "nice", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
del signal.SIGHUP
import toplist
from toplist.cli import main
ranker = toplist.Ranker(["a", "b"], 1, compiled=False)
ranker.learn(ranker.rank(), clicks=[1])
assert toplist.simulate("cascade-ucb1", *toplist.worlds.b_lb(), steps=10, runs=2, compiled=False).runs == 2
main(["policies"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dcm-ts" in done.stdout


@pytest.mark.parametrize("command", ["serve", "demo", "store check", "store backup copy.db", "store vacuum"])
def test_the_service_refuses_to_start_on_windows(command: str) -> None:
    program = f"""
import sys
{WITHOUT_UNIX}
sys.platform = "win32"
from toplist.cli import main
sys.exit(main({command.split()!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (Exit.INPUT, "")
    assert done.stderr == (
        "toplist: The service needs Linux or macOS, since its event loop, uvloop, does not run on Windows; "
        "use WSL or a container.\n"
    )


@pytest.mark.parametrize("name", toplist.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert getattr(toplist, name).__doc__
    assert name in dir(toplist)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        toplist.simulat  # noqa: B018


def test_versions_agree() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{toplist.__version__}"' in project
    assert f"## {toplist.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_lock_file_is_plain() -> None:
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9_.\-+!]+", line), line

"""Policies of one's own in a real process: from an installed package and from a file, checked before they serve."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forking import ForkedProcess

from toplist.cli import Exit, main
from toplist.core.problem import InvalidInput
from toplist.service import check_policies
from toplist.service.client import Client
from toplist.service.policy_settings import PolicySettings
from toplist.service.wire import RankingSpec

POLICY = '''
"""A policy of a package."""
from toplist.parts import UCB1, Everything, ThroughFirstClick
from toplist.policies import Policy


def make_mine(scale: float = 1.5) -> Policy:
    """Shows the items with the largest UCB1 index."""
    return Policy(ThroughFirstClick(), Everything(), UCB1(scale))
'''
MARKED = POLICY.replace("import Policy", "import Policy, entry").replace("def make_mine", '@entry("Mine")\ndef mine')


def build_wheel(folder: Path, code: str, version: str) -> Path:
    """A wheel with one module and one entry point."""
    info = f"own_policies_of_test-{version}.dist-info"
    files = {
        "own_policies_of_test.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: own-policies-of-test\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[toplist.policies]\nmine-of-package = own_policies_of_test:make_mine\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text.encode())}\n"
    wheel = folder / f"own_policies_of_test-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (files | {f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}).items():
            archive.writestr(name, text)
    return wheel


def unpack(wheel: Path, site: Path) -> None:
    """Replace what is installed in a folder by a wheel: what pip does, which takes a second."""
    shutil.rmtree(site)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def install(wheel: Path, site: Path) -> None:
    """Install a wheel with pip, into a folder of its own."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
    ]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True, capture_output=True)


def environment(site: Path | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    if "TOPLIST_CACHE_DIR" in os.environ:
        kept["TOPLIST_CACHE_DIR"] = os.environ["TOPLIST_CACHE_DIR"]
    if site is not None:
        kept["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return kept


@contextmanager
def serving(
    folder: Path, site: Path | None, *flags: str, popen: Any = ForkedProcess
) -> Iterator[tuple[Client, list[dict[str, object]]]]:
    """`toplist serve`; a client, and the lines of its log once it has ended."""
    lines: list[dict[str, object]] = []
    command = [sys.executable, "-m", "toplist", "serve", "--port", "0", "--set", "logs.requests=none", *flags]
    with popen(
        command, cwd=folder, env=environment(site), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first, process.communicate(timeout=60)
            with Client(first.split()[-1]) as client:
                yield client, lines
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=60)
            lines += [json.loads(line) for line in log.splitlines()]
            assert process.returncode == Exit.FINE
        finally:
            process.kill()


def store_check(folder: Path, site: Path | None, *flags: str) -> str:
    command = [sys.executable, "-m", "toplist", "store", "check", *flags]
    with ForkedProcess(
        command, cwd=folder, env=environment(site), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        out, err = process.communicate()
    assert process.returncode == Exit.FINE, out + err
    return str(out)


@pytest.mark.slow
def test_a_policy_of_an_installed_package_is_checked_served_and_remembered(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(build_wheel(tmp_path, POLICY, "1.0"), site)
    with serving(tmp_path, site, popen=subprocess.Popen) as (client, log):  # as a user starts it
        made = client.create_ranking(RankingSpec(name="shop", positions=2, policy="mine-of-package(scale=0.5)"))
        client.put_items("shop", ["tea", "coffee", "cocoa"])
        for _ in range(20):
            shown = client.make_list("shop")
            assert client.report(shown.impression, [1], final=True).counted
        assert client.estimates("shop").learned == 20
    checked = next(line for line in log if line["event"] == "policies checked")
    assert checked["policies"] == {"mine-of-package": "the package own-policies-of-test 1.0"}
    assert "policy code differs" not in [line["event"] for line in log]
    assert "other code" not in store_check(tmp_path, site)

    # Another version of the package, with other code.
    unpack(build_wheel(tmp_path, POLICY.replace("UCB1(scale)", "UCB1(2 * scale)"), "1.1"), site)
    with serving(tmp_path, site) as (client, log):
        found = client.ranking("shop")
        assert found.code == made.code
        assert found.code_warning is not None
        assert "made with other code of the policy 'mine-of-package(scale=0.5)'" in found.code_warning
        assert client.make_list("shop").items  # it goes on
        assert client.estimates("shop").learned == 20
        differs = store_check(tmp_path, site)
        anew = client.change_ranking("shop", policy="mine-of-package(scale=0.5)")
        assert anew.code != made.code
        assert anew.code_warning is None
    assert found.code_warning in differs
    assert [line["detail"] for line in log if line["event"] == "policy code differs"] == [found.code_warning]

    # Without the package, the service says what is missing, and does not start.
    command = [sys.executable, "-m", "toplist", "serve", "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == Exit.INPUT
    assert "The ranking 'shop' has the policy 'mine-of-package(scale=0.5)', which cannot be made here" in done.stderr


@pytest.mark.slow
def test_a_policy_of_a_file_is_served(tmp_path: Path) -> None:
    (tmp_path / "own_file_of_test.py").write_text(MARKED)
    with serving(tmp_path, None, "--policies", "own_file_of_test.py") as (client, log):
        client.create_ranking(RankingSpec(name="shop", positions=2, policy="mine"))
        client.put_items("shop", ["tea", "coffee", "cocoa"])
        assert len(client.make_list("shop").items) == 2
    assert [line["policies"] for line in log if line["event"] == "policies checked"] == [
        {"mine": "own_file_of_test.py"}
    ]
    assert "1 learner rebuilt" in store_check(tmp_path, None, "--policies", "own_file_of_test.py")


@pytest.mark.slow
def test_a_policy_that_breaks_a_promise_is_not_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own_broken_of_test.py"
    file.write_text(MARKED.replace("= 1.5", "= 1e9"))
    code = main(["serve", "--port", "0", "--store", str(tmp_path / "db"), "--policies", str(file)])
    said = capsys.readouterr().err
    assert code == Exit.INPUT
    assert f"The policy 'mine' of {file} breaks promises of policies, so it is not served: " in said
    assert "beats_random_on_an_easy_problem: its regret is" in said
    assert not (tmp_path / "db").exists()


def test_a_check_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "own_slow_of_test.py"
    file.write_text("import time\ntime.sleep(600)\n")
    settings = PolicySettings(files=[str(file)], installed=False, check_seconds=2.0)
    with pytest.raises(InvalidInput, match=r"while they were imported, took more than 2 seconds; make it faster"):
        check_policies.load_checked_policies(settings, lambda *_, **__: None)


def test_a_check_that_crashes_is_told(tmp_path: Path) -> None:
    file = tmp_path / "own_crash_of_test.py"
    file.write_text("import os\nos._exit(9)\n")
    settings = PolicySettings(files=[str(file)], installed=False)
    with pytest.raises(InvalidInput, match="ended with exit code 9; repair the policy, or leave it out"):
        check_policies.load_checked_policies(settings, lambda *_, **__: None)


def test_a_policy_that_needs_parameters_cannot_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "own_needy_of_test.py"
    file.write_text(MARKED.replace("scale: float = 1.5", "scale: float"))
    settings = PolicySettings(files=[str(file)], installed=False)
    with pytest.raises(InvalidInput, match=r"cannot be made without parameters, with which it is checked: mine needs"):
        check_policies.load_checked_policies(settings, lambda *_, **__: None)

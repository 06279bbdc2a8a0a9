"""The runbook of several servers: its commands run, with real servers and a real PostgreSQL; its files are valid."""

import asyncio
import importlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer, programs
from running import at_work, front, shown, told
from units import Units

from toplist.cli import main
from toplist.service.read_settings import read_settings

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "docs" / "deploy"
UNIT = (DEPLOY / "toplist@.service").read_text()
LONGEST = 240  # seconds for all commands of the runbook
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "---- end of a block ----"


def blocks() -> list[str]:
    """What the runbook tells its readers to type."""
    return BLOCK.findall((ROOT / "docs" / "operations.md").read_text())


def free_ports(count: int) -> list[int]:
    """Ports below 5,000 that are free, each with the port for other servers that the unit makes of it."""
    found: list[int] = []
    for port in range(2000 + os.getpid() % 2000, 5000):
        try:
            for number in (port, int(f"2{port}")):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no ports are free")


class Machine:
    """A folder that stands for the machine of the runbook."""

    def __init__(self, folder: Path, database: PostgresServer) -> None:
        self._folder, self._database = folder, database
        self._ports = dict(zip(("8601", "8602", "8603"), map(str, free_ports(3)), strict=True))
        (folder / "etc").mkdir()
        (folder / "etc" / "toplist.toml").write_text(self.adapted((DEPLOY / "toplist.toml").read_text()))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_STORE")},
            "PATH": os.pathsep.join([str(folder), str(programs()), os.environ["PATH"]]),
        }
        others = {"postgresql": (database.start, database.stop)}
        self.units = Units(self.adapted(UNIT), folder, self.environment, others)

    def adapted(self, text: str) -> str:
        """A text with the places, ports and addresses of the test, and a short lease."""
        text = re.sub(r"postgresql://toplist@db\.internal/(\w+)", lambda found: self._database.address(found[1]), text)
        text = re.sub(r"860[123]", lambda found: self._ports[found[0]], text)
        text = text.replace("/etc/toplist", str(self._folder / "etc")).replace("10.0.0.5", "127.0.0.1")
        return text.replace("lease = 10 ", "lease = 1 ").replace("retry-delay 1 ", "retry-delay 0 ")

    def run(self, script: str) -> str:
        """Run commands; what they print."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.adapted(script)], cwd=self._folder, env=self.environment,
            capture_output=True, text=True, check=False, timeout=LONGEST, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made: list[Machine] = []
    started = PostgresServer()
    try:
        started.run("CREATE DATABASE shop")
        made.append(Machine(tmp_path, started))
        yield made[0]
    finally:
        for each in made:
            each.units.close()
        started.remove()


async def learned_file(path: Path) -> None:
    """A store in a file in which something was learned."""
    async with at_work(path) as service:
        await front(service)
        for _ in range(20):
            await told(service, await shown(service), 2, final=True)


@pytest.mark.slow
def test_the_commands_of_the_runbook_run(machine: Machine, tmp_path: Path) -> None:
    asyncio.run(learned_file(tmp_path / "toplist.db"))
    outputs = machine.run("".join(f"{block}\necho '\n{MARK}'\n" for block in blocks())).split(MARK)
    by_command = dict(zip(blocks(), outputs, strict=False))

    def printed(command: str) -> str:
        (found,) = [part for block, part in by_command.items() if command in block]
        return found

    assert (tmp_path / "etc" / "secrets.env").stat().st_mode & 0o077 == 0
    grown = printed("systemctl start toplist@8603\n").partition('"servers":')[2]
    assert grown.count('"address"') == 3
    (first,) = re.findall(r'"impression":"[^"]*"', printed('"name": "front-page"'))
    assert first in printed("systemctl kill")  # the same list for the same request, from another server
    assert first in printed("pg_restore")
    assert re.search(r"^HTTP/1.1 (200|503)", printed("systemctl stop postgresql").lstrip(), re.MULTILINE)
    assert "The file is not damaged. 1 learner rebuilt from the log; what is kept differs in 0." in printed(
        'copy "$MOVED"'
    )
    assert main(["store", "check", "--store", str(tmp_path / "back.db")]) == 0


def test_the_unit_is_valid(tmp_path: Path) -> None:
    """By systemd's own check, where there is one; and its command is one of toplist with settings that exist."""
    sections = dict(re.findall(r"^\[(\w+)\]\n((?:(?!\[).*\n?)*)", UNIT, re.MULTILINE))
    assert list(sections) == ["Unit", "Service", "Install"]
    checker = shutil.which("systemd-analyze")
    if checker is not None:
        unit = tmp_path / "toplist@8601.service"
        known = UNIT.replace("/opt/toplist/bin/toplist", sys.executable).replace("User=toplist\n", "")
        unit.write_text(known.replace("%i", "8601"))
        done = subprocess.run(
            [checker, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, unit.name in done.stderr) == (0, False), done.stderr


def test_the_settings_of_files_are_settings_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_CLUSTER_SECRET", "s" * 32)
    (flags,) = re.findall(r"serve .*", UNIT)
    assert flags.split()[1:3] == ["--config", "/etc/toplist/toplist.toml"]
    given = dict(re.findall(r"--(port|set cluster\.port)[ =](\S+)", flags))
    found = read_settings(
        str(DEPLOY / "toplist.toml"),
        flags={"port": given["port"].replace("%i", "8601"), "cluster.port": given["set cluster.port"][:1] + "8601"},
    )
    assert (found.port, found.cluster.port, found.cluster.partitions) == (8601, 28601, 16)


def test_the_compose_file_names_real_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml: Any = importlib.import_module("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    servers = {name: service for name, service in services.items() if name.startswith("server-")}
    assert len(servers) == 3
    secrets = {
        "TOPLIST_CLUSTER_SECRET": "s" * 32, "TOPLIST_KEYS": f"operator:admin:{'a' * 64}", "POSTGRES_PASSWORD": "word",
    }  # fmt: skip
    published = set()
    for name, service in servers.items():
        with monkeypatch.context() as patched:
            for variable, value in service["environment"].items():
                asked = re.fullmatch(r"\$\{(\w+):\?\}", value)
                patched.setenv(variable, secrets[asked[1]] if asked else value)
            found = read_settings(None)
        assert found.cluster.address == f"{name}:{found.cluster.port}"
        assert found.store == f"postgresql://{services['database']['environment']['POSTGRES_USER']}@database/shop"
        (port,) = service["ports"]
        published.add(port)
        assert port.endswith(f":{found.port}")
        assert f":{found.port}/readyz" in service["healthcheck"]["test"][-1]
    assert len(published) == 3
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert 'CMD ["toplist", "serve"]' in dockerfile
    assert "[serve,postgres]" in dockerfile

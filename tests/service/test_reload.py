"""Settings of a running service are read again on SIGHUP: what changes, what is refused, and what goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from asking import ADMIN, KEYS, SERVE, LocalService
from benchmarks.server import free_port
from certificates import Authority
from test_serving import running

from toplist.cli import Exit
from toplist.core.problem import InvalidInput
from toplist.service.api_keys import ApiKeySetting, settings_lines
from toplist.service.client import AsyncClient, Client, Retries, Unreachable
from toplist.service.http.app import make_app
from toplist.service.http.auth import hash_api_key
from toplist.service.http.logs import Log
from toplist.service.http.server import Server
from toplist.service.reload import RELOADED, Reload
from toplist.service.settings import Limits, Logs, Settings, TlsFiles, setting_fields
from toplist.service.wire import RankingSpec


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def written(folder: Path, *keys: tuple[str, str], more: str = "") -> None:
    """Write settings with keys, each a name and a secret."""
    lines = [settings_lines(ApiKeySetting(name=name, scope="admin", sha256=hash_api_key(key))) for name, key in keys]
    (folder / "toplist.toml").write_text(more + "".join(lines))


def test_a_process_reads_its_settings_again(tmp_path: Path) -> None:
    written(tmp_path, ("page", "old"), ("gone", "gone"))
    with running(tmp_path) as service, ThreadPoolExecutor(1) as pool:
        url = f"{service.url}/v1/rankings"

        def status(key: str) -> int:
            return httpx.get(url, headers=bearer(key)).status_code

        httpx.post(url, headers=bearer("old"), json={"name": "shop", "positions": 1})
        httpx.put(f"{url}/shop/items", headers=bearer("old"), json={"items": [{"id": "a"}]})
        (tmp_path / "wait").touch()
        pending = pool.submit(httpx.post, f"{url}/shop/lists", headers=bearer("gone"), json={}, timeout=60)
        while "toplist_requests_in_flight 2.0" not in httpx.get(f"{service.url}/metrics", headers=bearer("old")).text:
            sleep(0.02)
        written(tmp_path, ("page", "old"), ("page", "new"), ("fresh", "fresh"), more="memory = 7\n")
        line = service.reload()
        assert line["event"] == "reloaded"
        assert line["keys"] == {"added": ["fresh"], "removed": ["gone"], "changed": ["page"]}
        assert (line["changed"], line["need_restart"]) == (["keys"], ["memory"])
        assert [status(key) for key in ("old", "new", "fresh", "gone")] == [200, 200, 200, 401]
        (tmp_path / "wait").unlink()
        assert pending.result().status_code == 200  # it was admitted before
        (tmp_path / "toplist.toml").write_text("[[keys]]\nname = 'page'\nscope = 'root'\nsha256 = 'toplist_secret'\n")
        line = service.reload()
        assert line["event"] == "reload refused"
        assert line["detail"].startswith("Key 1 of toplist.toml must have a scope that is list, report,")
        assert [status(key) for key in ("old", "new", "fresh", "gone")] == [200, 200, 200, 401]
        code, lines = service.end()
    assert code == Exit.FINE
    assert "toplist_secret" not in json.dumps([line, lines])


def test_closing_the_terminal_ends_the_service(tmp_path: Path) -> None:
    master, slave = os.openpty()
    with running(tmp_path, stdin=slave) as service:
        os.close(slave)
        assert service.reload()["event"] == "reloaded"
        os.close(master)
        code, lines = service.end(signal.SIGHUP)
    assert code == Exit.FINE
    assert [line["event"] for line in lines][-2:] == ["ending", "ended"]


class Reloading:
    """A service whose settings are given by hand."""

    def __init__(self, settings: Settings) -> None:
        self.service = LocalService(settings)
        self.next: Settings | Exception = settings
        self.log = Log(stream=self.service.logged)
        self.service.app = make_app(self.service.double.as_service(), settings, self.log)
        self.server: Server = self.service.run(self._server())
        self._reload = Reload(settings, self._read, self.log, [self.service.app], self.server)

    async def _server(self) -> Server:
        app = self.service.app
        return Server(app, self.service.settings, app.handlers.metrics.connections)

    def _read(self) -> Settings:
        if isinstance(self.next, Exception):
            raise self.next
        return self.next

    def __call__(self, settings: Settings | Exception) -> dict[str, Any]:
        self.next = settings
        self._reload()
        line: dict[str, Any] = json.loads(self.service.logged.getvalue().splitlines()[-1])
        return line

    def status(self, key: str = SERVE, **more: Any) -> int:
        return self.service.ask("GET", "/v1/rankings", headers=bearer(key) | more, client=("10.0.0.9", 1)).status_code


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (Settings(), "The settings have no keys any more; restart"),
        (Settings(keys=KEYS, tls=TlsFiles(certificate="a", key="b")), "TLS cannot be turned on or off"),
        (InvalidInput("The settings file is odd."), "The settings file is odd."),
        (OSError("unforeseen"), ""),
    ],
)
def test_faulty_settings_change_nothing(new: Settings | Exception, reason: str) -> None:
    reload = Reloading(Settings(keys=KEYS))
    line = reload(new)
    assert (line["event"], line.get("detail", "").startswith(reason)) == ("reload refused", True)
    assert (reload.status(), reload.status("wrong")) == (200, 401)
    assert reload(Settings(keys=KEYS))["changed"] == []
    reload.service.close()


def test_limits_hosts_proxies_and_logs_are_reloaded() -> None:
    reload = Reloading(Settings(keys=KEYS, limits=Limits(rate=0.001, burst=1)))
    assert [reload.status() for _ in range(2)] == [200, 429]
    assert reload(Settings(keys=KEYS[:1], limits=Limits(rate=0.001, burst=1)))["keys"]["removed"] == ["editor"]
    assert reload.status() == 429  # a reload gives nobody new tokens
    line = reload(Settings(keys=KEYS, limits=Limits(rate=0.0), proxies=["10.0.0.9"], logs=Logs(requests="none")))
    assert line["changed"] == ["proxies", "limits.rate", "limits.burst", "logs.requests", "keys"]
    assert reload.status() == 200
    assert reload.server.counts.proxies.trusts("10.0.0.9")
    assert reload.service.lines()[-1] == json.dumps(line, separators=(",", ":"))  # the request left none
    reload.service.close()
    reload = Reloading(Settings())
    assert reload.status(host="ranking.example") == 421
    assert reload(Settings(hosts=["ranking.example"]))["changed"] == ["hosts"]
    assert reload.status(host="ranking.example") == 200
    reload.service.close()


def test_the_first_key_closes_the_service() -> None:
    reload = Reloading(Settings())
    assert reload.status("none", host="localhost") == 200
    reload(Settings(keys=KEYS))
    assert (reload.status("none"), reload.status(ADMIN)) == (401, 200)
    assert "securitySchemes" in reload.service.ask("GET", "/openapi.json").json()["components"]
    reload.service.close()


def test_settings_that_need_a_restart_are_named_until_then() -> None:
    secret = "a secret of the tests, long enough"
    reload = Reloading(Settings(keys=KEYS))
    for _ in range(2):
        line = reload(Settings(keys=KEYS, memory=7, segment_secret=secret))
        assert (line["changed"], line["need_restart"]) == ([], ["segment_secret", "memory"])
    assert secret not in "".join(reload.service.lines())
    reload.service.close()


def test_every_setting_that_is_reloaded_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    (paragraph,) = [part for part in text.split("\n\n") if part.startswith("`kill -HUP`")]
    assert set(RELOADED) <= {setting.name for setting in setting_fields()}
    assert [name for name in RELOADED if f"`{name}`" not in paragraph and not name.startswith("tls.")] == []
    assert "`tls`" in paragraph


def test_a_process_serves_https_and_takes_a_new_certificate(tmp_path: Path) -> None:
    authority, port = Authority(tmp_path), free_port()
    files = authority.issue()
    flags = (f"tls.certificate={files.certificate}", f"tls.key={files.key}", f"health.port={port}")
    with running(tmp_path, *(part for flag in flags for part in ("--set", flag))) as service:
        assert service.url.startswith("https://")
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        with Client(service.url, ca_file=authority.authority, retries=Retries(0)) as client:
            client.create_ranking(RankingSpec(name="shop", positions=1))
            assert [each.name for each in client.rankings().rankings] == ["shop"]

            async def read() -> int:
                async with AsyncClient(service.url, ca_file=str(authority.authority)) as other:
                    return len((await other.rankings()).rankings)

            assert asyncio.run(read()) == 1
            before = served(service.url, authority)
            authority.issue()
            assert service.reload()["event"] == "reloaded"
            assert served(service.url, authority) != before
            Path(files.key).write_text("")
            line = service.reload()
            assert (line["event"], "a file with a private key in PEM" in line["detail"]) == ("reload refused", True)
            assert len(client.rankings().rankings) == 1
        with Client(service.url, retries=Retries(0)) as client, pytest.raises(Unreachable, match="certificate"):
            client.rankings()
        assert service.end()[0] == Exit.FINE


def served(url: str, authority: Authority) -> object:
    """The serial number of the certificate of a service."""
    host, port = url.removeprefix("https://").split(":")
    with (
        socket.create_connection((host, int(port))) as raw,
        authority.context().wrap_socket(raw, server_hostname=host) as connection,
    ):
        found = connection.getpeercert()
        assert found is not None
        return found["serialNumber"]


def test_a_client_says_what_is_wrong_with_its_authorities(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"ca_file is '.*, but must be a readable file; .*No such file"):
        Client("https://127.0.0.1", ca_file=tmp_path / "none.pem")
    (tmp_path / "empty.pem").touch()
    with pytest.raises(InvalidInput, match=r"ca_file is '.*, but must be a file with certificates in PEM"):
        Client("https://127.0.0.1", ca_file=tmp_path / "empty.pem")

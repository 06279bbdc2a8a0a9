"""Limits of connections and of requests in flight, against clients that hold them; the time is given by hand."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from asking import KEYS, SERVE
from test_connections import GET, LARGE, POST, hosted, reply, run, until

from toplist.service.browser_settings import BrowserSettings
from toplist.service.http import connection_limits
from toplist.service.http.app import App
from toplist.service.settings import Limits

REPORT = b"POST /v1/reports HTTP/1.1\r\nHost: evil\r\nOrigin: http://evil\r\nContent-Type: text/plain\r\n"
LIST = b"POST /v1/rankings/a/lists HTTP/1.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("head", [REPORT, LIST % SERVE.encode()], ids=["report of a stranger", "list of a serve key"])
def test_bodies_that_do_not_come_keep_nobody_out(head: bytes) -> None:
    browser = BrowserSettings(secrets=["2026a:" + "x" * 40])

    async def work() -> None:
        async with hosted(keys=KEYS, browser=browser, limits=Limits(in_flight=2)) as host:
            for number in range(3):
                _, writer = await host.connect(f"127.0.0.{number + 2}")
                writer.write(head + b"Content-Length: 60000\r\n\r\n{")
            await until(lambda: cast(App, host.server.config.app).handlers.metrics.in_flight == 3)
            reader, writer = await host.connect()
            writer.write(b"GET /v1/rankings HTTP/1.1\r\nAuthorization: Bearer %s\r\n\r\n" % SERVE.encode())
            assert (await reply(reader))[0] == 200

    run(work())


def test_without_secrets_the_body_of_a_report_is_not_waited_for() -> None:
    async def work() -> None:
        async with hosted(keys=KEYS) as host:
            reader, writer = await host.connect()
            writer.write(REPORT + b"Content-Length: 60000\r\n\r\n{")
            status, body = await reply(reader)
            assert (status, json.loads(body)["type"]) == (403, "urn:toplist:problem:forbidden")

    run(work())


@pytest.mark.parametrize("spared", [False, True])
def test_connections_of_an_address_are_limited_but_not_those_of_a_proxy(spared: bool) -> None:
    async def work() -> None:
        proxies = ["127.0.0.1"] if spared else []
        async with hosted(keys=KEYS, proxies=proxies, limits=Limits(address_connections=2)) as host:
            held = [await host.connect() for _ in range(2)]
            await until(lambda: len(host.connections) == 2)
            reader, writer = await host.connect()
            writer.write(GET)
            if spared:
                assert (await reply(reader))[0] == 200
                return
            status, body = await reply(reader)
            assert (status, json.loads(body)["type"]) == (503, "urn:toplist:problem:busy")
            reader, writer = await host.connect("127.0.0.2")
            writer.write(GET)
            assert (await reply(reader))[0] == 200
            held[0][1].close()
            await until(lambda: len(host.connections) == 2)
            reader, writer = await host.connect()
            writer.write(GET)
            assert (await reply(reader))[0] == 200

    run(work())


def test_at_the_limit_of_connections_the_longest_idle_one_is_closed_for_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_limits, "NEW_FOR", 0.0)

    async def work() -> None:
        async with hosted(limits=Limits(connections=2)) as host:
            first, _ = await host.connect()
            await until(lambda: len(host.connections) == 1)
            second, busy = await host.connect()
            busy.write(GET[:10])
            await until(lambda: len(host.connections) == 2)
            third, writer = await host.connect()
            writer.write(GET[:10])
            assert await first.read() == b""
            await asyncio.sleep(0.01)
            fourth, _ = await host.connect()
            assert (await reply(fourth))[0] == 503  # no other is idle
            for reader, rest in ((second, busy), (third, writer)):
                rest.write(GET[10:])
                assert (await reply(reader))[0] == 200

    run(work())


@pytest.mark.parametrize(
    ("sent", "buffer"),
    [(GET[:20], 0), (POST % 100 + b"{", 0), (LARGE * 50, 4096)],
    ids=["heads that do not end", "bodies that do not come", "responses that nobody takes"],
)
def test_at_the_limit_of_connections_the_address_with_most_gives_way(sent: bytes, buffer: int) -> None:
    async def work() -> None:
        async with hosted(limits=Limits(connections=9)) as host:
            counts = host.server.counts
            visitor, asking = await host.connect()  # its request is on the way
            held = []
            for number in range(8):
                held.append(await host.connect(f"127.0.0.{2 + number % 2}", buffer))
                held[-1][1].write(sent)
                held[-1][1].transport.pause_reading()
                await until(lambda: sum(each.unfinished_since is not None for each in host.connections) == len(held))
            flooder, _ = await host.connect("127.0.0.2")
            assert (await reply(flooder))[0] == 503  # its address has as many as any
            for _ in range(2):
                reader, writer = await host.connect()
                writer.write(GET)
                assert (await reply(reader))[0] == 200
            await until(lambda: len(host.connections) == 9)
            assert (sorted(counts.by_address.values()), counts.gave_way) == ([3, 3, 3], 2)
            asking.write(GET)
            assert (await reply(visitor))[0] == 200

    run(work())


def test_while_most_connections_are_held_by_few_addresses_idle_ones_of_others_stay() -> None:
    async def work() -> None:
        async with hosted(limits=Limits(connections=6)) as host:
            visitor, idle = await host.connect()
            await until(lambda: len(host.connections) == 1)
            for _ in range(5):
                _, writer = await host.connect("127.0.0.2")
                writer.write(GET[:20])
            await until(lambda: sum(each.unfinished_since is not None for each in host.connections) == 5)
            for each in host.connections:
                each.waiting_since -= 60.0
            for source, status in (("127.0.0.2", 503), ("127.0.0.3", 200)):
                reader, writer = await host.connect(source)
                writer.write(GET)
                assert (await reply(reader))[0] == status
            idle.write(GET)
            assert (await reply(visitor))[0] == 200

    run(work())


def test_connections_of_a_proxy_give_way_only_if_they_are_idle_and_come_before_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_limits, "NEW_FOR", 0.0)
    monkeypatch.setattr(connection_limits, "LOOK_EVERY", 0.0)

    async def work() -> None:
        async with hosted(keys=KEYS, proxies=["127.0.0.1"], limits=Limits(connections=3)) as host:
            held = []
            for source in ("127.0.0.1", "127.0.0.1", "127.0.0.2"):
                held.append(await host.connect(source))
                await asyncio.sleep(0.05)  # so that it is older than the next
            await begin(held[2])
            for source, closed in (("127.0.0.3", 0), ("127.0.0.1", 2)):
                another = await host.connect(source)
                await begin(another)
                assert await held[closed][0].read() == b""
            refused, _ = await host.connect("127.0.0.4")
            assert (await reply(refused))[0] == 503

    async def begin(opened: tuple[asyncio.StreamReader, Any]) -> None:
        opened[1].write(GET[:20])
        await asyncio.sleep(0.05)

    run(work())

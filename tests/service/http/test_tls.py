"""TLS of a real server: handshakes and their limits, files that cannot be used, and new certificates."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import ssl
import warnings
from pathlib import Path
from typing import Any

import pytest
from asking import KEYS, SERVE
from certificates import Authority
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from test_connections import GET, LARGE, Host, hosted, reply, run, until

from toplist.core.problem import InvalidInput
from toplist.service.http import connection_limits
from toplist.service.http.connection import Connection
from toplist.service.http.logs import Log
from toplist.service.http.tls import load_tls
from toplist.service.settings import Limits, TlsFiles


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def connect(host: Host, authority: Authority, **more: Any) -> tuple[asyncio.StreamReader, Any]:
    return await host.connect(ssl=authority.context(), server_hostname="127.0.0.1", **more)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server closes a connection without a word."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


def test_requests_are_answered_by_tls_of_a_late_version(authority: Authority) -> None:
    async def work() -> None:
        async with hosted(tls=authority.issue(), keys=KEYS) as host:
            reader, writer = await connect(host, authority)
            for _ in range(2):
                writer.write(GET.replace(b"/healthz", b"/v1/rankings").replace(b"Host", b"X: y\r\nHost"))
                assert (await reply(reader))[0] == 401
                writer.write(GET[:-2] + b"Authorization: Bearer " + SERVE.encode() + b"\r\n\r\n")
                assert (await reply(reader))[0] == 200
            assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"
            assert host.server.tls is not None
            assert host.server.tls.minimum_version == ssl.TLSVersion.TLSv1_2
            for version, works in ((ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_1, False)):
                context = authority.context()
                context.set_ciphers("ALL:@SECLEVEL=0")
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # that of old versions
                    context.minimum_version = context.maximum_version = version
                if works:
                    await host.connect(ssl=context, server_hostname="127.0.0.1")
                else:
                    with pytest.raises((ConnectionError, ssl.SSLError)):
                        await host.connect(ssl=context, server_hostname="127.0.0.1")

    run(work())


def test_browsers_are_told_to_use_tls_alone_where_the_service_speaks_it(authority: Authority) -> None:
    async def work() -> None:
        for tls in (authority.issue(), TlsFiles()):
            async with hosted(tls=tls) as host:
                reader, writer = await (connect(host, authority) if tls.certificate else host.connect())
                for asked in (GET, GET.replace(b"/healthz", b"/unknown")):
                    writer.write(asked)
                    head = (await reader.readuntil(b"\r\n\r\n")).lower()
                    assert (b"\r\nstrict-transport-security: max-age=31536000\r\n" in head) == bool(tls.certificate)
                    await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
                writer.write(b"nonsense\r\n\r\n")  # which the application never sees
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                assert (b"\r\nstrict-transport-security: max-age=31536000\r\n" in head) == bool(tls.certificate)

    run(work())


def test_a_handshake_that_is_not_completed_counts_and_ends(authority: Authority) -> None:
    async def work() -> None:
        limits = Limits(seconds=0.3, address_connections=3)
        async with hosted(tls=authority.issue(), limits=limits) as host:
            held = [await host.connect() for _ in range(3)]
            held[1][1].write(b"\x16\x03\x01\x02\x00\x01")  # the begin of a hello
            await until(lambda: len(host.server.counts) == 3)
            refused, _ = await host.connect()
            assert await ended(refused)
            assert host.server.counts.refused["address"] == 1
            reader, writer = await connect(host, authority, source="127.0.0.2")  # another caller
            writer.write(GET)
            assert (await reply(reader))[0] == 200
            for silent, _ in held:
                assert await ended(silent)
            await until(lambda: len(host.server.counts) == 1)
            assert host.server.counts.refused["handshake"] == 3
            reader, writer = await connect(host, authority)
            writer.write(GET)
            assert (await reply(reader))[0] == 200

    run(work())


def test_at_the_limit_of_connections_an_old_handshake_ends_for_a_new_connection(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_limits, "NEW_FOR", 0.0)

    async def work() -> None:
        async with hosted(tls=authority.issue(), limits=Limits(connections=2)) as host:
            first, _ = await host.connect()
            await until(lambda: len(host.server.counts) == 1)
            await asyncio.sleep(0.01)  # so that it is older than the next
            await host.connect()
            await until(lambda: len(host.server.counts) == 2)
            reader, writer = await connect(host, authority)
            assert await ended(first)
            writer.write(GET)
            assert (await reply(reader))[0] == 200
            assert len(host.server.counts) == 2

    run(work())


def test_a_server_that_stops_waits_for_no_handshake(authority: Authority) -> None:
    async def work() -> None:
        async with hosted(tls=authority.issue()) as host:
            silent, _ = await host.connect()
            await until(lambda: len(host.server.counts) == 1)
            host.server.should_exit = True
            assert await ended(silent)
            await until(lambda: len(host.server.counts) == 0)

    run(work())


def test_plain_http_and_noise_are_dropped(authority: Authority) -> None:
    async def work() -> None:
        errors: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with hosted(tls=authority.issue()) as host:
            for sent in (GET, b"\x00" * 1000, b"\x16\x03\x01\x00\x05hello", b"x"):
                reader, writer = await host.connect()
                writer.write(sent)
                if sent == b"x":
                    writer.close()
                else:
                    assert b"HTTP" not in await reader.read()  # an alert at most
            await until(lambda: len(host.server.counts) == 0)
            assert host.server.counts.refused["handshake"] == 4
        assert errors == []

    run(work())


def test_handshakes_that_fail_or_are_given_up_leave_no_garbage(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service collects garbage rarely."""
    monkeypatch.setattr(connection_limits, "NEW_FOR", 0.0)

    async def work() -> None:
        async with hosted(tls=authority.issue(), limits=Limits(connections=1)) as host:
            gc.collect()
            gc.disable()
            try:
                for number in range(6):
                    reader, writer = await host.connect()
                    await until(lambda: len(host.server.counts) == 1)
                    await asyncio.sleep(0.12)  # idle connections are looked for now and then
                    if number % 2:
                        writer.write(GET)
                        await reader.read()
                await until(lambda: len(host.server.counts) == 0)
                await asyncio.sleep(0.01)
                assert [each for each in gc.get_objects() if issubclass(type(each), Connection)] == []
            finally:
                gc.enable()

    run(work())


def test_a_client_that_takes_nothing_of_a_response_is_cut_off_and_a_slow_one_is_served(authority: Authority) -> None:
    async def work() -> None:
        async with hosted(tls=authority.issue()) as host:
            _, silent = await connect(host, authority, buffer=4096)
            silent.transport.pause_reading()
            silent.write(LARGE * 50)
            await until(lambda: any(each.flow.write_paused for each in host.connections))
            await asyncio.sleep(0.05)
            assert host.connections[0].transport.get_write_buffer_size() < 256 << 10
            host.check_after(0)
            host.check_after(61)
            await until(lambda: not host.connections)
            reader, writer = await connect(host, authority, buffer=4096)
            writer.write(LARGE * 80)
            await until(lambda: any(each.flow.write_paused for each in host.connections))
            for minute in range(4):
                host.check_after(minute * 61)
                await reader.readexactly(400 << 10)  # more than the buffers of the client
                await asyncio.sleep(0.01)
            assert host.connections

    run(work())


def test_a_new_certificate_is_for_new_connections(authority: Authority) -> None:
    async def work() -> None:
        async with hosted(tls=authority.issue()) as host:
            reader, writer = await connect(host, authority)
            before = writer.get_extra_info("peercert")["serialNumber"]
            host.server.tls = load_tls(authority.issue(), Log(stream=io.StringIO()))
            _, newer = await connect(host, authority)
            assert newer.get_extra_info("peercert")["serialNumber"] != before
            writer.write(GET)
            assert (await reply(reader))[0] == 200

    run(work())


def encrypted(files: TlsFiles) -> None:
    key = load_pem_private_key(Path(files.key).read_bytes(), None)
    form = BestAvailableEncryption(b"password")
    Path(files.key).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, form))


def mismatched(files: TlsFiles) -> None:
    other = Path(files.key).parent / "other"
    other.mkdir()
    Path(files.key).write_bytes(Path(Authority(other).issue().key).read_bytes())


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda files: Path(files.certificate).unlink(), "tls.certificate is .*, but must be a file that exists; .*"),
        (lambda files: Path(files.key).unlink(), "tls.key is .*, but must be a file that exists; .*"),
        (
            lambda files: Path(files.key).write_text(""),
            "tls.key is .*, but must be a file with a private key in PEM; .*",
        ),
        (
            lambda files: Path(files.certificate).write_bytes(Path(files.key).read_bytes()),
            "tls.certificate is .*, but must be a file with a certificate in PEM; .*",
        ),
        (
            lambda files: Path(files.certificate).write_text("-----BEGIN CERTIFICATE-----\nx\n"),
            "tls.certificate is .*, but must be a certificate in PEM that fits .*; check both .*",
        ),
        (mismatched, "tls.key is .*, but must be the private key of .*; name the two of one pair."),
        (encrypted, "The private key of tls.key is encrypted, and nobody can be asked .*"),
    ],
)
def test_files_that_cannot_be_used(authority: Authority, spoil: Any, message: str) -> None:
    files = authority.issue()
    spoil(files)
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        load_tls(files, Log(stream=io.StringIO()))


def test_a_folder_is_no_certificate(authority: Authority, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="but must be a readable file; check its permissions"):
        load_tls(TlsFiles(certificate=str(tmp_path), key=authority.issue().key), Log(stream=io.StringIO()))


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True), (0o602, True)])
def test_a_private_key_that_others_can_use_is_warned_of(authority: Authority, mode: int, warned: bool) -> None:
    files, logged = authority.issue(), io.StringIO()
    Path(files.key).chmod(mode)
    assert load_tls(files, Log(stream=logged)) is not None
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert [(line["event"], line["mode"]) for line in lines] == ([("private key exposed", f"{mode:04o}")] * warned)


def test_no_files_no_tls() -> None:
    assert load_tls(TlsFiles(), Log()) is None

"""TLS to a real PostgreSQL, and its password from a file or the environment, never in a message or a log."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.server import UNLIMITED, Server, free_port
from certificates import Authority
from forking import ForkedProcess
from postgres_server import PostgresServer

from toplist.service.errors import StoreUnavailable
from toplist.service.store.postgres import PostgresStore
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Session

PASSWORD = "kingfisher-7"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[PostgresServer, str, Authority]]:
    """A server that takes connections with TLS and a password, its address without the password, and who signed it."""
    port, authority = free_port(), Authority(tmp_path)
    files = authority.issue("localhost")
    server = PostgresServer(port=str(port))
    try:
        server.run(f"ALTER ROLE toplist PASSWORD '{PASSWORD}'")
        server.run("CREATE DATABASE shop")
        server.stop()
        for name, source in (("server.crt", files.certificate), ("server.key", files.key)):
            target = server.data / name
            target.touch(mode=0o600)
            target.write_bytes(Path(source).read_bytes())
            server.give(target)
        (server.data / "pg_hba.conf").write_text("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        server.settings |= {"listen_addresses": "127.0.0.1", "ssl": "on"}
        server.start()
        yield server, f"postgresql://toplist@localhost:{port}/shop?hostaddr=127.0.0.1", authority
    finally:
        server.remove()


def uses_tls(address: str) -> bool:
    session = Session(address)
    try:
        return bool(session.run([Statement("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")])[0][0][0])
    finally:
        session.close()


def test_tls_and_credentials(
    guarded: tuple[PostgresServer, str, Authority], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, plain, authority = guarded
    address = f"{plain}&sslmode=verify-full&sslrootcert={authority.authority}"
    with pytest.raises(StoreUnavailable, match="no password supplied"):
        uses_tls(address)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(StoreUnavailable, match="password authentication failed"):
        uses_tls(address)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert uses_tls(address)
    monkeypatch.delenv("PGPASSWORD")
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    passwords.write_text(f"localhost:*:*:toplist:{PASSWORD}\n")
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert uses_tls(address)
    with closing(PostgresStore(address)) as store:
        assert store.is_owner
    for refused in (f"{plain}&sslmode=disable", address.replace("hostaddr", "host=other.test&hostaddr")):
        with pytest.raises(StoreUnavailable):
            uses_tls(refused)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")  # did not sign the server's certificate
    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        uses_tls(f"{plain}&sslmode=verify-full&sslrootcert={other.authority}")


def test_the_database_notices_soon_that_a_server_has_lost_its_network(
    guarded: tuple[PostgresServer, str, Authority], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with closing(Session(guarded[1])) as session:
        for _ in range(2):  # the settings of TCP are those of the connection, not of its first transaction
            found = session.run([Statement(f"SHOW tcp_{name}") for name in ("keepalives_idle", "user_timeout")])
            assert found == [[("20",)], [("40000",)]]


def test_a_server_never_logs_the_password(
    guarded: tuple[PostgresServer, str, Authority], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, plain, _ = guarded
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    address = plain.replace("toplist@", f"toplist:{PASSWORD}@")  # the worst place for it
    settings = {**UNLIMITED, "lease": "1", "cluster.port": str(free_port()), "cluster.secret": "s" * 40}
    started = Server(tmp_path / "one.db", settings=settings, database=f"{address}&sslmode=require")
    try:
        started.start()
        started.create("front", 4, 2)
        answers = [started.ask_raw("GET", path)[1] for path in ("/v1/cluster", "/metrics", "/readyz")]
        server.stop()
        answers.append(started.ask_raw("POST", "/v1/rankings/front/lists", {})[1])
        server.start()
        started.end()
    finally:
        if started.running.poll() is None:
            started.kill()
    said = started.output.read_bytes() + b"".join(answers)
    assert b"store unavailable" in said  # it has something to say
    assert PASSWORD.encode() not in said

"""Downloads from a local server: a complete file is kept, a failure leaves nothing behind."""

import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from toplist.core.problem import InvalidInput
from toplist.datasets import download, generated, movielens
from toplist.datasets.download import ELSEWHERE, OFFERS, NotDownloaded, fetch
from toplist.datasets.ratings import synthetic_ratings


class Server:
    """The responses of a server by path: a body, and optionally a wrong length or none."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.bodies: dict[str, bytes] = {}
        self.lengths: dict[str, int | None] = {}
        self.asked: list[str] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.asked.append(self.path)
            body = known.bodies.get(self.path)
            if body is None:
                self.send_error(404)
                return
            length = known.lengths.get(self.path, len(body))
            self.send_response(200)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Server(f"http://127.0.0.1:{httpd.server_address[1]}")
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    """MovieLens, generated, as a zip file."""
    folder = tmp_path / "generated"
    folder.mkdir()
    generated.write("ml-1m", folder, synthetic_ratings(people=30, items=25, topics=6, seed=3))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"ml-1m/{path.name}")
    return packed.getvalue()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def offered(
    server: Server, monkeypatch: pytest.MonkeyPatch, body: bytes, published: bool = True, sha256: str = ""
) -> None:
    """Offer ml-1m from this server, with its MD5 in the form of GroupLens."""
    offer = OFFERS["ml-1m"]._replace(address=f"{server.address}/ml-1m.zip", published=published, sha256=sha256)
    monkeypatch.setitem(OFFERS, "ml-1m", offer)
    server.bodies["/ml-1m.zip"] = body
    md5 = hashlib.md5(body).hexdigest()
    server.bodies["/ml-1m.zip.md5"] = f"MD5 (ml-1m.zip) = {md5}\n".encode()


def refused(target: Path, message: str, sha256: str | None = None) -> None:
    """The error says what is wrong, and no file is left."""
    messages: list[str] = []
    with pytest.raises(NotDownloaded, match=message) as caught:
        fetch("ml-1m", target, sha256, tell=messages.append)
    assert messages == [OFFERS["ml-1m"].terms]
    assert "\n" not in str(caught.value)
    assert list(target.iterdir()) == []


def test_a_complete_download_is_kept_and_read(
    server: Server, archive: bytes, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(server, monkeypatch, archive)
    messages: list[str] = []
    path = fetch("ml-1m", target, tell=messages.append)
    assert path == target / "ml-1m.zip"
    assert path.read_bytes() == archive
    assert list(target.iterdir()) == [path]
    assert messages[0].startswith("MovieLens is for research: no commercial use without permission")
    md5 = hashlib.md5(archive).hexdigest()
    expected = f"{path}: {len(archive):,} bytes, MD5 {md5} as it should be. Read it with toplist.datasets.movielens."
    assert messages[1:] == [expected]
    assert "by 30 people" in str(movielens.read(path))
    with pytest.raises(InvalidInput, match=r"but must be a new one; use it, or move it away first"):
        fetch("ml-1m", target, tell=messages.append)
    assert server.asked == ["/ml-1m.zip.md5", "/ml-1m.zip"]  # no request for an existing file


def test_a_wrong_checksum(server: Server, archive: bytes, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(server, monkeypatch, archive)
    server.bodies["/ml-1m.zip.md5"] = b"d41d8cd98f00b204e9800998ecf8427e  ml-1m.zip\n"
    refused(target, "has the MD5 [0-9a-f]{32}, but must have d41d8cd98f00b204e9800998ecf8427e; try again")
    server.bodies["/ml-1m.zip.md5"] = b"<html>Moved</html>"
    refused(target, "begins with '<html>Moved</html>', but must hold an MD5")
    del server.bodies["/ml-1m.zip.md5"]
    refused(target, r"ml-1m.zip.md5 answers 404 Not Found; see whether you are online, or download")


def test_a_known_or_given_sha256(server: Server, archive: bytes, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = hashlib.sha256(archive).hexdigest()
    offered(server, monkeypatch, archive, published=False, sha256="0" * 64)
    refused(target, f"has the SHA-256 {right}, but must have 0000")
    offered(server, monkeypatch, archive, published=False)
    refused(target, f"has the SHA-256 {right}, but must have 1111", sha256="1" * 64)
    with pytest.raises(InvalidInput, match="The SHA-256 is 'abc', but must be 64 hexadecimal digits"):
        fetch("ml-1m", target, "abc")
    messages: list[str] = []
    path = fetch("ml-1m", target, tell=messages.append)
    assert f"no checksum is published; SHA-256 {right}" in messages[-1]
    path.unlink()
    fetch("ml-1m", target, right.upper(), tell=messages.append)
    assert f"SHA-256 {right} as it should be" in messages[-1]


def test_a_truncated_body(server: Server, archive: bytes, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noticed by the announced length, else by the checksum, else by the archive itself."""
    offered(server, monkeypatch, archive)
    server.bodies["/ml-1m.zip"] = archive[:-100]
    server.lengths["/ml-1m.zip"] = len(archive)
    refused(target, rf"broke off after {len(archive) - 100:,} of {len(archive):,} bytes; try again")
    server.lengths["/ml-1m.zip"] = None
    refused(target, "has the MD5 [0-9a-f]{32}, but must have")
    offered(server, monkeypatch, archive[:-100], published=False)
    refused(target, "is not a zip file, but must be one")
    damaged = bytearray(archive)
    damaged[archive.index(b"ml-1m/ratings.dat") + 200] ^= 0xFF
    offered(server, monkeypatch, bytes(damaged), published=False)
    refused(target, "ml-1m.zip contains a damaged file; try again")


def test_a_body_that_is_too_large(
    server: Server, archive: bytes, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noticed by the announced length, else by the bytes received."""
    offered(server, monkeypatch, archive)
    monkeypatch.setitem(OFFERS, "ml-1m", OFFERS["ml-1m"]._replace(most=len(archive) - 1))
    for length in (len(archive), None):
        server.lengths["/ml-1m.zip"] = length
        refused(target, r"has more than 0 MiB, but the data set is smaller; see what its owners say")


def test_no_server(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/ml-1m.zip"
        monkeypatch.setitem(OFFERS, "ml-1m", OFFERS["ml-1m"]._replace(address=address))
        refused(
            target, r"ml-1m.zip.md5 cannot be reached \(.*refused.*\); see whether you are online, or download http"
        )


@pytest.mark.parametrize("name", ELSEWHERE)
def test_data_whose_terms_must_be_accepted_by_hand(name: str, target: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must be one that a program may download; .*https://www\.") as caught:
        fetch(name, target)
    assert list(target.iterdir()) == []
    assert "\n" not in str(caught.value)


def test_unknown_names_and_missing_folders(target: Path) -> None:
    with pytest.raises(InvalidInput, match=r"The data set is 'ml-1', but must be one of .*; perhaps you mean 'ml-1"):
        fetch("ml-1", target)
    for folder in (target / "nowhere", 5):
        with pytest.raises(InvalidInput, match="must be a folder that exists; create it first"):
            fetch("ml-1m", folder)  # type: ignore[arg-type]


def test_all_offers_come_from_their_owners() -> None:
    """Encrypted if the owners' servers are, with a limit, terms and an existing reader."""
    hosts = {"https://files.grouplens.org/", "http://millionsongdataset.com/", "https://www.tagtraum.com/"}
    for offer in OFFERS.values():
        assert any(offer.address.startswith(host) for host in hosts)
        assert 0 < offer.most <= 2**30
        assert "cite" in offer.terms
        assert hasattr(__import__(f"toplist.datasets.{offer.reader}", fromlist=["read"]), "read")


def test_the_command(
    server: Server,
    archive: bytes,
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    offered(server, monkeypatch, archive)
    assert download.main(["ml-1m", str(target)]) == 0
    assert "as it should be" in capsys.readouterr().out
    assert download.main(["ml-1m", str(target)]) == 2
    assert "must be a new one" in capsys.readouterr().err

    def interrupted(name: str, *_: object) -> Path:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr(download, "fetch", interrupted)
    assert download.main(["ml-1m", str(target)]) == 130
    assert capsys.readouterr().err == "interrupted\n"

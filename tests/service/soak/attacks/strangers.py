"""Attacks by strangers, who have no API key."""

from __future__ import annotations

from ..attacker import Attack, Attacker, message
from ..plan import ADDRESSES, FRONT, MORE_ADDRESSES, PROXY, TARGET

DOCUMENT = message("GET", "/openapi.json")
PIPELINED = 400
SMALL_BUFFER = 4096  # bytes
LARGE = 15_000_000  # bytes
LISTS = f"/v1/rankings/{FRONT}/lists"
ITEMS = f"/v1/rankings/{TARGET}/items"
PATHS = ("/", "/openapi.json", "/healthz", "/readyz", "/metrics", LISTS, ITEMS, "/v1/rankings", "/nothing", "*", "//")


async def unread_pipelines(attacker: Attacker) -> None:
    """Many requests at once for a large document, of which nothing is read."""
    await attacker.hold(DOCUMENT * PIPELINED, DOCUMENT, receive_buffer=SMALL_BUFFER)


async def unread_bodies(attacker: Attacker) -> None:
    """A body that the answer does not wait for, sent a byte at a time."""
    method = attacker.random.choice(("POST", "GET"))
    head = message(method, "/v1/rankings", headers="X-Filler: 1\r\nContent-Length: 100000\r\n")
    await attacker.hold(head.replace(b"Content-Length: 0\r\n", b""), b"x")


async def half_closed(attacker: Attacker) -> None:
    """The end of a whole request, or of a part of one, and an answer that is awaited or not."""
    whole = message("POST", LISTS, b"{}")
    data = whole[: attacker.random.choice((len(whole), len(whole), 20, len(whole) - 1))]
    await attacker.tell(data, half_close=True)


async def slow_heads(attacker: Attacker) -> None:
    """A head that never ends."""
    await attacker.hold(b"POST /v1/rankings HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"s", every=0.5)


async def heads_of_many(attacker: Attacker) -> None:
    """The same from more addresses, until they hold all connections."""
    address = attacker.random.choice(MORE_ADDRESSES)
    await attacker.hold(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"s", address=address)


async def forged_reports(attacker: Attacker) -> None:
    """Reports as if from a page of the service, whose bodies do not come; neither needs a key."""
    origin = "Origin: http://evil.example\r\nContent-Length: 60000\r\n"
    head = b"POST /v1/reports HTTP/1.1\r\nHost: evil.example\r\nContent-Type: text/plain\r\n" + origin.encode()
    await attacker.hold(head + b"\r\n{", b" ", address=attacker.random.choice(MORE_ADDRESSES))


async def large_bodies(attacker: Attacker) -> None:
    """A body of 15 MB without a key, which stops before its end."""
    head = message("PUT", ITEMS, headers=f"X-Filler: 1\r\nContent-Length: {LARGE}\r\n")
    await attacker.hold(head.replace(b"Content-Length: 0\r\n", b"") + b" " * (LARGE - 10))


async def idle_connections(attacker: Attacker) -> None:
    """A connection with one request, or none, and nothing more."""
    await attacker.hold(attacker.random.choice((b"", message("GET", "/healthz"))))


async def guessed_keys(attacker: Attacker) -> None:
    """Keys that are made up."""
    guess = f"Authorization: Bearer toplist_{attacker.random.randbytes(32).hex()}\r\n"
    await attacker.ask("stranger", "POST", LISTS, {}, headers=guess)


async def malformed(attacker: Attacker) -> None:
    """Bytes that are nearly a request, and bytes that are not."""
    chance = attacker.random
    data = bytearray(message(chance.choice(("GET", "POST", "PUT", "DELETE")), chance.choice(PATHS), b'{"a": 1}'))
    match chance.randrange(8):
        case 0:
            data = bytearray(chance.randbytes(chance.randrange(1, 3000)))
        case 1:
            for _ in range(chance.randrange(1, 20)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 2:
            data = bytearray(message("POST", LISTS, headers="Transfer-Encoding: chunked\r\n") + b"5\r\n{}\r\n0\r\n\r\n")
        case 3:
            sizes = ("-1", "1e3", "99999999999999999999", "0x10", "", "5, 6")
            data = bytearray(message("GET", LISTS, headers=f"Content-Length: {chance.choice(sizes)}\r\n"))
        case 4:
            data = bytearray(message("GET", "/" + "a" * chance.randrange(200_000)))
        case 5:
            data = bytearray(message("GET", "/", headers="".join(f"X-{n}: {n}\r\n" for n in range(20_000))))
        case 6:
            version = chance.choice((b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9", b"RTSP/1.0"))
            data = bytearray(bytes(data).replace(b"HTTP/1.1", version))
        case _:
            del data[chance.randrange(len(data)) :]
            data += bytes(data) * chance.randrange(5)
    await attacker.tell(bytes(data), half_close=chance.random() < 0.5, wait=0.5)


async def forged_headers(attacker: Attacker) -> None:
    """Addresses, hosts and keys where they do not belong."""
    chance = attacker.random
    made_up = ".".join(str(chance.randrange(256)) for _ in range(4))
    match chance.randrange(6):
        case 0:  # straight to the service, which trusts nobody but the proxy
            await attacker.ask("stranger", "POST", LISTS, {}, headers=f"X-Forwarded-For: {made_up}\r\n")
        case 1:  # by the proxy, which adds the true address
            forwarded = f"X-Forwarded-For: key page, {made_up}, {ADDRESSES[0]}\r\n"
            await attacker.ask("stranger", "POST", LISTS, {}, headers=forwarded, address=PROXY)
        case 2:
            forwarded = "X-Forwarded-For: " + ", ".join([made_up] * 2000) + "\r\n"
            await attacker.ask("stranger", "GET", "/openapi.json", headers=forwarded, address=PROXY)
        case 3:
            trailer = f"Authorization: Bearer {attacker.key('serve')}"
            head = message("POST", LISTS, headers="Transfer-Encoding: chunked\r\n").replace(
                b"Content-Length: 0\r\n", b""
            )
            if await attacker.tell(head + f"2\r\n{{}}\r\n0\r\n{trailer}\r\n\r\n".encode()) == 200:
                attacker.count("ADMITTED")
        case 4:
            data = message("POST", LISTS, b"{}").replace(b"localhost", b"stranger.example")
            await attacker.tell(data.replace(b"HTTP/1.1", chance.choice((b"HTTP/1.1", b"HTTP/1.0"))))
        case _:
            more = "Upgrade: websocket\r\nConnection: upgrade\r\nExpect: 100-continue\r\nX-Request-Id: \x01\x02\r\n"
            await attacker.tell(message("GET", chance.choice(PATHS), headers=more), wait=0.5)


async def fast_connections(attacker: Attacker) -> None:
    """Connections that are closed as soon as they are open."""
    attacker.close(await attacker.connect())
    attacker.count("opened")


async def floods(attacker: Attacker) -> None:
    """Paths that need no key, or do not exist."""
    await attacker.ask("stranger", attacker.random.choice(("GET", "HEAD", "DELETE")), attacker.random.choice(PATHS[:9]))


STRANGERS = [
    Attack("unread pipelines", "stranger", 275.0, 1100, unread_pipelines, is_timed=True),
    Attack("unread bodies", "stranger", 275.0, 1100, unread_bodies, is_timed=True),
    Attack("idle connections", "stranger", 275.0, 1100, idle_connections, is_timed=True),
    Attack("half-closed", "stranger", 100.0, 100, half_closed),
    Attack("slow heads", "stranger", 200.0, 1000, slow_heads, is_timed=True),
    Attack("heads of many addresses", "stranger", 600.0, 1800, heads_of_many, is_timed=True),
    Attack("forged reports", "stranger", 300.0, 1400, forged_reports, is_timed=True),
    Attack("large bodies", "stranger", 10.0, 60, large_bodies, is_timed=True),
    Attack("guessed keys", "stranger", 200.0, 50, guessed_keys),
    Attack("malformed", "stranger", 100.0, 100, malformed),
    Attack("forged headers", "stranger", 100.0, 100, forged_headers),
    Attack("fast connections", "stranger", 200.0, 50, fast_connections),
    Attack("floods", "stranger", 300.0, 50, floods),
]

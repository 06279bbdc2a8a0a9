"""Connections between servers: who does not know the secret is not listened to."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest
from msgspec.structs import replace
from running import run

from toplist.service.cluster.listener import MOST_STRANGERS, Listener, Parts
from toplist.service.cluster.messages import (
    Ask,
    Elsewhere,
    ForwardedAnswer,
    ForwardedKey,
    Part,
    decode_message,
    encode_message,
)
from toplist.service.cluster.peers import NotSent, OutcomeUnknown, Peers

SECRET = b"known to all servers"
PATIENCE = 10.0  # seconds


class Numbers:
    """The parts of a stream."""

    def __init__(self, count: int) -> None:
        self._left = [b"%d" % n for n in range(count)]

    async def read(self) -> bytes | None:
        return self._left[0] if self._left else None

    def advance(self) -> None:
        del self._left[:1]


class Owner:
    """A server that owns partition 1, and never answers about partition 2."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.looked = 0

    async def answer(self, ask: Ask) -> tuple[ForwardedAnswer, Parts | None]:
        self.asked.append(ask.route)
        if ask.partition == 0:
            raise NotSent
        if ask.route == "of a later release":
            raise KeyError(ask.route)
        if ask.partition == 2:
            await asyncio.sleep(3600.0)
        parts = Numbers(3) if ask.route == "stream" else None
        return ForwardedAnswer(ask.id, 200, ask.body * 2, b"text/plain", {"a": "b"}, parts is not None), parts

    def look_again(self) -> None:
        self.looked += 1


def ask(partition: int = 1, route: str = "echo", body: bytes = b"x") -> Ask:
    return Ask(0, partition, route, ["front"], b"", body, b"id", "caller")


async def send(peers: Peers, address: str, ask: Ask) -> ForwardedAnswer:
    return await peers.ask(address, replace(ask, id=peers.next_id()))


@asynccontextmanager
async def listening(owner: Owner) -> AsyncIterator[str]:
    listener = Listener(SECRET, owner.answer, owner.look_again)
    with socket.create_server(("127.0.0.1", 0)) as made:
        await listener.start(made)
        try:
            yield f"127.0.0.1:{made.getsockname()[1]}"
        finally:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                if "_reply" in repr(task):
                    task.cancel()
            await listener.stop()


def test_many_requests_share_a_connection() -> None:
    async def work() -> None:
        owner = Owner()
        async with listening(owner) as address:
            peers = Peers(SECRET)
            answers = await asyncio.gather(*(send(peers, address, ask(body=b"%d " % n)) for n in range(200)))
            assert [answer.body for answer in answers] == [b"%d %d " % (n, n) for n in range(200)]
            assert answers[0].headers == {"a": "b"}
            large = await send(peers, address, ask(body=b"x" * 5_000_000))
            assert large.body == b"x" * 10_000_000
            with pytest.raises(NotSent):
                await send(peers, address, ask(0))
            await peers.tell_to_look(address)
            await send(peers, address, ask())
            assert owner.looked == 1
            peers.close()

    run(work())


def test_a_stream_is_read_part_by_part() -> None:
    async def work() -> None:
        async with listening(Owner()) as address:
            peers = Peers(SECRET)
            answer = await send(peers, address, ask(route="stream"))
            assert answer.is_stream
            assert [await peers.next_part(address, answer) for _ in range(4)] == [b"0", b"1", b"2", None]
            with pytest.raises(OutcomeUnknown):
                await peers.next_part(address, answer)
            peers.close()

    run(work())


def test_who_does_not_know_the_secret_is_not_listened_to() -> None:
    async def work() -> None:
        owner = Owner()
        async with listening(owner) as address:
            peers = Peers(b"another secret")
            with pytest.raises(NotSent):
                await send(peers, address, ask())
            host, _, port = address.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            nonce = await reader.readexactly(32)
            writer.write(nonce)  # sends the challenge back, and then the proof that it gets for it
            writer.write(await reader.readexactly(32))
            assert await reader.read() == b""
            writer.close()
            assert owner.asked == []

    run(work())


def test_a_flood_of_silent_connections_is_cut_and_keeps_no_server_out() -> None:
    async def work() -> None:
        async with listening(Owner()) as address:
            host, _, port = address.rpartition(":")
            flood = [await asyncio.open_connection(host, int(port), local_addr=("127.0.0.9", 0)) for _ in range(60)]
            peers = Peers(SECRET)
            assert (await send(peers, address, ask())).body == b"xx"
            closed = [asyncio.create_task(reader.read()) for reader, _ in flood]  # the challenge, and then the end
            done, _ = await asyncio.wait(closed, timeout=2.0)  # those that are left end after the handshake's time
            assert len(done) >= 60 - MOST_STRANGERS
            for _, writer in flood:
                writer.close()
            await asyncio.gather(*closed, return_exceptions=True)
            peers.close()

    run(work())


def test_an_answer_that_never_comes_is_given_up_when_the_partition_moves_or_the_server_ends() -> None:
    async def work() -> None:
        async with listening(Owner()) as address:
            peers = Peers(SECRET)
            await send(peers, address, ask())
            waiting = asyncio.create_task(send(peers, address, ask(2)))
            await asyncio.sleep(0.05)
            peers.give_up(1, None)
            peers.give_up(2, address)
            await asyncio.sleep(0.0)
            assert not waiting.done()
            peers.give_up(2, "another")
            with pytest.raises(OutcomeUnknown):
                await waiting
            waiting = asyncio.create_task(send(peers, address, ask(2)))
            await asyncio.sleep(0.05)
            peers.close()
            with pytest.raises(OutcomeUnknown):
                await waiting

    run(work())


def test_an_answer_that_never_comes_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.cluster.peers.ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("toplist.service.cluster.peers.LOOK_EVERY", 0.05)

    async def work() -> None:
        async with listening(Owner()) as address, asyncio.timeout(PATIENCE):
            peers = Peers(SECRET)
            waiting = asyncio.create_task(send(peers, address, ask(2)))
            while not waiting.done():  # answers about others come: the connection works
                await send(peers, address, ask())
                await asyncio.sleep(0.02)
            assert isinstance(waiting.exception(), OutcomeUnknown)
            link = peers.links[address]
            with pytest.raises(OutcomeUnknown):
                await send(peers, address, ask(2))
            await asyncio.sleep(0.05)
            assert not link.is_open  # nothing came: it is opened anew
            assert (await send(peers, address, ask())).body == b"xx"
            peers.close()

    run(work())


def test_a_request_that_fails_is_answered() -> None:
    async def work() -> None:
        async with listening(Owner()) as address, asyncio.timeout(PATIENCE):
            peers = Peers(SECRET)
            answer = await send(peers, address, ask(route="of a later release"))
            assert (answer.status, json.loads(answer.body)["status"]) == (500, 500)
            peers.close()

    run(work())


def test_nothing_is_sent_on_a_connection_that_has_ended() -> None:
    """It ends between the moment that it is ready and the moment that the request goes on."""

    async def work() -> None:
        async with listening(Owner()) as address, asyncio.timeout(PATIENCE):
            peers = Peers(SECRET)
            await send(peers, address, ask())
            link = peers.links[address]
            link.close()
            await asyncio.sleep(0.05)
            peers.links[address] = link
            with pytest.raises(NotSent):
                await send(peers, address, ask())

    run(work())


def test_a_connection_that_proves_nothing_in_time_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.cluster.peers.CONNECT_SECONDS", 0.05)
    monkeypatch.setattr("toplist.service.cluster.link.HANDSHAKE_SECONDS", 3600.0)

    async def work() -> None:
        ended = asyncio.Event()

        async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                await reader.read(-1)
            ended.set()
            writer.close()

        server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        async with server, asyncio.timeout(PATIENCE):
            with pytest.raises(NotSent):
                await send(Peers(SECRET), f"127.0.0.1:{server.sockets[0].getsockname()[1]}", ask())
            await ended.wait()

    run(work())


def test_a_server_that_cannot_be_reached_was_asked_nothing() -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as made:
            port = made.getsockname()[1]
        peers = Peers(SECRET)
        for _ in range(2):
            with pytest.raises(NotSent):
                await send(peers, f"127.0.0.1:{port}", ask())

    run(work())


def test_messages_of_a_later_release_are_read() -> None:
    """A later release may add fields at the end, with a default for messages of this one."""
    key = ForwardedKey("page", ["front"], "serve")
    ask = Ask(1, 2, "make_list", ["front"], b"", b"{}", b"an id", "10.0.0.7", key)
    for said in (ask, ForwardedAnswer(1, 200, b"{}", b"application/json", {"a": "b"}), Part(1, b"x"), Elsewhere(1)):
        fields = msgspec.msgpack.decode(encode_message(said))
        assert decode_message(msgspec.msgpack.encode([*fields, "added later"])) == said
    shorter = msgspec.msgpack.decode(encode_message(ask))[:-1]
    assert decode_message(msgspec.msgpack.encode(shorter)) == replace(ask, key=None)
    before_scopes = [*shorter, ["page", ["front"]]]
    assert decode_message(msgspec.msgpack.encode(before_scopes)) == replace(ask, key=ForwardedKey("page", ["front"]))
    longer = [*shorter, ["page", ["front"], "serve", "added later"]]
    assert decode_message(msgspec.msgpack.encode(longer)) == ask

"""The application of one of several servers: it answers for its own partitions, and forwards other requests."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from toplist.service.api_keys import ApiKeySetting
from toplist.service.cluster.cluster import GO_ON, HOLD, Cluster
from toplist.service.cluster.listener import Parts
from toplist.service.cluster.messages import Ask, ForwardedAnswer, ForwardedKey
from toplist.service.cluster.partitions import OwnedPartition
from toplist.service.cluster.peers import NotSent, OutcomeUnknown, Peers
from toplist.service.errors import LogMoved, NotFound, NotOwner, OtherDivision, Refused, StoreUnavailable
from toplist.service.http.app import App, AsgiScope, Encoded, Exchange, busy, make_handlers
from toplist.service.http.auth import KnownKey
from toplist.service.http.bodies import AS_SENT, LARGE_BODY, Receive, decode_body
from toplist.service.http.handlers import Handlers
from toplist.service.http.live_view import EVENT_STREAM, LiveParts, state_of_part
from toplist.service.http.logs import Log
from toplist.service.http.overview import merge_overviews
from toplist.service.http.problems import HttpProblem
from toplist.service.http.replies import Send
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import CompiledRoute, HttpRequest, RawResponse, Response, StreamResponse
from toplist.service.live.impression_state import UNKNOWN_IMPRESSION
from toplist.service.live.service import Service
from toplist.service.settings import Settings
from toplist.service.wire import Overview, OverviewQuery, Rankings

_NO_DIGEST = "0" * 64
# Questions that any server answers from what is committed; other requests go to the owner.
FROM_DATABASE = frozenset({
    "estimates", "explain", "explain_next", "export", "history", "list_items", "list_keys", "list_segments",
    "read_impression", "read_item", "read_ranking", "uplift",
})  # fmt: skip
# Requests about one segment; where a ranking is divided, its partition answers.
OF_SEGMENTS = frozenset({
    "delete_key", "delete_segment", "estimates", "explain_next", "import_ranker", "live", "make_list",
})  # fmt: skip
PAGE = 100  # rankings of an overview of one partition that are asked for at once


class Asked(NamedTuple):
    """What a request asks of a partition."""

    partition: int
    path: list[str]
    query: bytes
    body: bytes


class ClusterApp(App):
    """The ASGI application of one of several servers."""

    def __init__(self, handlers: Handlers, log: Log, cluster: Cluster) -> None:
        super().__init__(handlers, log)
        self._cluster = cluster
        handlers.cluster_view = cluster.view
        handlers.metrics.cluster_counts = cluster.counts
        self._routes = {route.name: CompiledRoute(route) for route in ROUTES}
        self._by_partition: dict[int, Handlers] = {}  # ~n: partition n of another server

    def reload(self, settings: Settings) -> None:
        """Admit requests by new settings from now on."""
        super().reload(settings)
        for handlers in self._by_partition.values():
            handlers.reload(settings)

    async def _answer(self, exchange: Exchange, scope: AsgiScope, receive: Receive, send: Send) -> Encoded | None:
        route, found, key = self._admit(exchange, scope)
        raw = await self._read_body(exchange, route, None if route.decode is None else AS_SENT, receive) or b""
        query: bytes = scope["query_string"]
        if route.route.name == "list_rankings":
            response: Response = await self._all_rankings(exchange, route, query, key)
        elif route.route.name == "live_overview":
            response = await self._overview(exchange, route, query, key)
        else:
            partition = None
            if self._cluster.copied_until:
                partition = await self._partition_of_copy(route, found, raw)
            if partition is None:
                partition = self._partition(route, found, query, raw)
            if partition is None:
                response = await self._respond(exchange, self.handlers, route, found, query, raw, key)
            else:
                asked = Asked(partition, found, query, raw)
                response = await self._from_owner(exchange, asked, route, key)
        if isinstance(response, StreamResponse):
            try:
                await self._stream(exchange, response, receive, send)
            finally:
                if isinstance(response.parts, RemoteParts):
                    response.parts.end()
            return None
        return self._encoded(exchange, route, response)

    def _partition(self, route: CompiledRoute, found: list[str], query: bytes, raw: bytes) -> int | None:
        """The partition that a request is for; None: any server answers it."""
        first = route.names[0] if route.names else ""
        if first == "name":
            return self._partition_of(route, found, query, raw)
        if first == "impression":
            partition = self._cluster.partition_of_impression(found[0])
            if partition is None:
                route.path(*found)  # says what is wrong with it
                raise NotFound(UNKNOWN_IMPRESSION)
            return partition
        if route.route.name == "create_ranking":
            return self._cluster.partition_of_ranking(decode_body(raw, self._decode(route)).name)
        if route.route.name == "report_by_token":
            impression = self.handlers.tokens.impression(decode_body(raw, self._decode(route)).token)
            return self._cluster.partition_of_impression(impression)
        return None

    def _partition_of(self, route: CompiledRoute, found: list[str], query: bytes, raw: bytes) -> int:
        """The partition of a request about a ranking: that of its segment where the ranking is divided."""
        name, cluster = found[0], self._cluster
        if not cluster.is_divided(name) or route.route.name not in OF_SEGMENTS:
            return cluster.partition_of_ranking(name)
        hidden = self.handlers.segment_hash
        if len(found) > 1:
            segment: str | None = hidden.of(found[1])
        elif route.decode is not None:
            segment = hidden.hidden(decode_body(raw, route.decode)).segment
        else:
            segment = hidden.hidden(route.parse_query(query)).segment
        return cluster.partition_of_segment(name, segment)

    async def _partition_of_copy(self, route: CompiledRoute, found: list[str], raw: bytes) -> int | None:
        """The partition of an impression that came from a store divided in another way, whose id tells it not."""
        if route.names[:1] == ["impression"]:
            return await self._cluster.partition_of_copy(found[0])
        if route.route.name == "report_by_token":
            token = decode_body(raw, self._decode(route)).token
            return await self._cluster.partition_of_copy(self.handlers.tokens.impression(token))
        return None

    def _decode(self, route: CompiledRoute) -> Any:
        assert route.decode is not None
        return route.decode

    async def _from_owner(
        self, exchange: Exchange, asked: Asked, route: CompiledRoute, key: KnownKey | None
    ) -> Response:
        """The response of this server, or of the owner of the partition.

        A request is tried again only where it surely had no effect: its commit was fenced here, another server has
        changed a divided ranking meanwhile, or see `Cluster.forward`.
        """
        begun, cluster = monotonic(), self._cluster
        while True:
            try:
                return await self._try(exchange, asked, route, key)
            except LogMoved:
                cluster.try_anew(begun)
            except OtherDivision as other:
                cluster.try_anew(begun)
                if route.names[:1] != ["name"]:  # an impression, of a ranking that was deleted meanwhile
                    continue
                cluster.note_divisions(asked.path[0], other.divisions)
                asked = asked._replace(partition=self._partition_of(route, asked.path, asked.query, asked.body))
            except NotSent:
                await cluster.wait_for_owner(begun)
            except NotOwner:
                cluster.requests["fenced"] += 1
                await cluster.wait_for_owner(begun)

    async def _try(self, exchange: Exchange, asked: Asked, route: CompiledRoute, key: KnownKey | None) -> Response:
        """One attempt to answer a request; `NotSent` where the owner of the partition is to be looked for again."""
        partition, path, query, body = asked
        name, cluster = route.route.name, self._cluster
        if name in FROM_DATABASE and not cluster.is_served_here(partition):
            cluster.requests["read"] += 1
            async with cluster.observers.question(partition) as service:
                handlers = self._observing(partition, service)
                response = await self._respond_to(exchange, partition, handlers, route, path, query, body, key)
                if isinstance(response, StreamResponse):  # its parts are read after the question
                    return response.and_then(cluster.observers.keep(partition))
                return response
        held = cluster.partitions.owned.get(partition)
        if held is not None and held.takes(name, path):
            with held:
                handlers = self._handlers_of(held)
                response = await self._respond_to(exchange, partition, handlers, route, path, query, body, key)
            cluster.requests["owned"] += 1
            return response
        known = None if key is None else key_to_forward(key)
        id = cluster.peers.next_id()
        ask = Ask(id, partition, name, path, query, body, exchange.request_id, exchange.caller, known)
        if (answer := await cluster.forward(ask)) is None:
            raise NotSent
        return self._forwarded(exchange, *answer)

    def _forwarded(self, exchange: Exchange, address: str, answer: ForwardedAnswer) -> Response:
        """The response that another server made."""
        exchange.status = answer.status
        media = answer.media.decode("latin-1")
        if answer.is_stream:
            return StreamResponse(RemoteParts(self._cluster.peers, address, answer), media)
        return RawResponse(answer.body, media, answer.status, answer.headers)

    def _handlers_of(self, held: OwnedPartition) -> Handlers:
        handlers = self._by_partition.get(held.number)
        if handlers is None or handlers.service is not held.service:
            handlers = self._by_partition[held.number] = self.handlers.of_partition(held.service)
        handlers.stopping = self.handlers.stopping or held.is_closing
        return handlers

    def _observing(self, partition: int, service: Service) -> Handlers:
        """The handlers of a partition of another server."""
        handlers = self._by_partition.get(~partition)
        if handlers is None or handlers.service is not service:
            handlers = self._by_partition[~partition] = self.handlers.of_partition(service)
        return handlers

    async def _respond_to(
        self, exchange: Exchange, partition: int, handlers: Handlers, route: CompiledRoute, found: list[str],
        query: bytes, raw: bytes, key: KnownKey | None,
    ) -> Response:  # fmt: skip
        """Answer a request to a partition here.

        Another partition decides about a divided ranking: what this one has in memory may lack its last change, which
        a commit would notice. Where nothing is written, refusals and answers are made sure of.
        """
        if route.names[:1] != ["name"] or partition == self._cluster.partition_of_ranking(found[0]):
            return await self._respond(exchange, handlers, route, found, query, raw, key)
        transactions, name = handlers.service.transactions, found[0]
        try:
            if route.route.method == "GET":
                await transactions.confirm()
            return await self._respond(exchange, handlers, route, found, query, raw, key)
        except (HttpProblem, Refused):
            await transactions.confirm()
            state = transactions.loaded_state
            if state is None or name not in state.rankings:
                raise OtherDivision(1) from None
            raise

    async def _respond(
        self, exchange: Exchange, handlers: Handlers, route: CompiledRoute, found: list[str], query: bytes,
        raw: bytes, key: KnownKey | None,
    ) -> Response:  # fmt: skip
        """Read a request, and answer it here."""
        path = route.path(*found) if found else ()
        parsed = route.parse_query(query)
        if key is not None and key.rankings is not None:
            await self._check_ranking(handlers, key, route, path)
        if len(raw) > LARGE_BODY:
            await self._bodies.take_turn(len(raw), route, self._share_of(exchange).caller)
        body = None if route.decode is None else decode_body(raw, route.decode)
        if route.reply_size is not None and exchange.held:  # of an attempt before
            self._bodies.memory.give_back(exchange.held)
            exchange.held = 0
        request = HttpRequest(path, parsed, body, "" if key is None else key.name, key)
        return await self._handle(exchange, handlers, route, request)

    async def _all_rankings(
        self, exchange: Exchange, route: CompiledRoute, query: bytes, key: KnownKey | None
    ) -> Response:
        """The rankings of all partitions."""
        asks = [Asked(partition, [], query, b"") for partition in range(self._cluster.count)]
        found: Rankings = Rankings(rankings=[])
        for response in [await self._from_owner(exchange, asked, route, key) for asked in asks]:
            if isinstance(response, RawResponse):
                if response.status != route.status:
                    return response
                found.rankings.extend(msgspec.json.decode(response.body, type=Rankings).rankings)
            else:
                assert isinstance(response, Rankings)
                found.rankings.extend(response.rankings)
        found.rankings.sort(key=lambda ranking: ranking.name)
        exchange.status = route.status
        return found

    async def _overview(self, exchange: Exchange, route: CompiledRoute, query: bytes, key: KnownKey | None) -> Response:
        """The overview of all partitions, as a stream."""
        asked: OverviewQuery = route.parse_query(query)
        pages = range(0, asked.offset + asked.limit, PAGE)  # of each partition: all could come first

        async def state() -> Overview:
            parts: list[Overview] = []
            for partition in range(self._cluster.count):
                for offset in pages:
                    own = {"updates": 1, "limit": PAGE, "offset": offset, "search": asked.search, "sort": asked.sort}
                    ask = Asked(partition, [], urlencode(own).encode(), b"")
                    part = await self._first_part(await self._from_owner(exchange, ask, route, key))
                    found = msgspec.json.decode(state_of_part(part), type=Overview)
                    parts.append(found if offset == 0 else replace(found, total=0, found=0))
                    if found.found <= offset + PAGE:
                        break
            return merge_overviews(parts, asked)

        live = LiveParts(state, asked.updates, lambda: self.handlers.stopping)
        await live.read_first()
        exchange.status = route.status
        return StreamResponse(live, EVENT_STREAM)

    async def _first_part(self, response: Response) -> bytes:
        """The first part of a stream of a partition."""
        if not isinstance(response, StreamResponse):
            raise StoreUnavailable("A server could not say what rankings it has.")
        part = await response.parts.read()
        if isinstance(response.parts, RemoteParts):
            response.parts.end()
        return part or b""

    # Requests that other servers forward ------------------------------------------------------------------------------

    async def answer_forwarded(self, ask: Ask) -> tuple[ForwardedAnswer, Parts | None]:
        """Answer a request that another server has admitted; `NotSent` where this one does not own its partition."""
        if ask.route in (HOLD, GO_ON):
            held = self._cluster.partitions.owned.get(ask.partition)
            if held is None:
                raise NotSent
            await self._cluster.take_turn(held, ask.route)
            return ForwardedAnswer(ask.id, 204, b"", b"", {}), None
        route = self._routes[ask.route]
        exchange = Exchange(self._admission, route.route.method, ask.request_id, ask.caller, {})
        exchange.label = route.label
        key = exchange.key = None if ask.key is None else forwarded_key(ask.key)
        self._cluster.requests["answered for others"] += 1
        parts: Parts | None = None
        more: Mapping[str, str] = {}
        begun = monotonic()
        self._metrics.working += 1
        try:
            if self._metrics.working > self._max_in_flight:
                raise busy(self._max_in_flight)
            if key is not None and route.scope is not None:
                key.check_scope(route.scope)
            response = await self._answer_anew(exchange, ask, route, key, begun)
            if isinstance(response, StreamResponse):
                parts, content, media = response.parts, b"", response.media.encode()
            else:
                content, media, more = self._encoded(exchange, route, response)
        except OtherDivision as other:
            raise NotSent(other.divisions) from None
        except NotOwner:  # nothing was done
            self._cluster.requests["fenced"] += 1
            raise NotSent from None
        except NotSent:
            raise
        except Exception as error:
            content, media, more = self._encoded_problem(exchange, error)
        finally:
            self._metrics.working -= 1
            self._give_back(exchange)
            if exchange.sending:
                self._share_of(exchange).give_back(exchange.sending)
        return ForwardedAnswer(ask.id, exchange.status, content, media, dict(more), parts is not None), parts

    async def _answer_anew(
        self, exchange: Exchange, ask: Ask, route: CompiledRoute, key: KnownKey | None, begun: float
    ) -> Response:
        """Answer a forwarded request, again where another server has changed a divided ranking meanwhile."""
        while True:
            held = await self._cluster.take_forwarded(ask.partition, ask.route, ask.path)
            try:
                with held:
                    handlers = self._handlers_of(held)
                    return await self._respond_to(
                        exchange, ask.partition, handlers, route, ask.path, ask.query, ask.body, key
                    )
            except LogMoved:
                self._cluster.try_anew(begun)


class RemoteParts:
    """The parts of a response that another server makes, asked for one by one."""

    def __init__(self, peers: Peers, address: str, answer: ForwardedAnswer) -> None:
        self._peers, self._address, self._answer = peers, address, answer
        self._part: bytes | None = None
        self._is_read = False

    async def read(self) -> bytes | None:
        """The next part, None after the last; the same again until `advance`."""
        if not self._is_read:
            try:
                self._part = await self._peers.next_part(self._address, self._answer)
            except OutcomeUnknown:
                raise StoreUnavailable("The server that owns this ranking has gone.") from None
            self._is_read = True
        return self._part

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        self._is_read = False

    def end(self) -> None:
        """End the stream before its last part."""
        self._peers.end_stream(self._address, self._answer)


def key_to_forward(key: KnownKey) -> ForwardedKey:
    """What the owner of a partition is told of a key that this server has checked."""
    return ForwardedKey(key.name, None if key.rankings is None else sorted(key.rankings), key.setting.scope)


def forwarded_key(key: ForwardedKey) -> KnownKey:
    """A key that another server has checked: what it allows is checked once more here."""
    scope = "admin" if key.scope is None else key.scope
    return KnownKey.of(ApiKeySetting(name=key.name, scope=scope, sha256=_NO_DIGEST, rankings=key.rankings))


def make_cluster_app(cluster: Cluster, settings: Settings, log: Log) -> ClusterApp:
    """The application in front of a cluster, which the caller starts and stops."""
    service = cast(Service, cluster)  # where no partition is concerned: readiness and metrics
    return ClusterApp(make_handlers(service, settings, log), log, cluster)

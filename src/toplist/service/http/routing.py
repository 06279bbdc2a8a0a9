"""Routes, and the router that finds the route of a request."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct

from toplist.service.api_keys import Scope
from toplist.service.http import problems
from toplist.service.http.accepted import current_fields, nearest_field
from toplist.service.http.auth import KnownKey
from toplist.service.http.problems import HttpProblem
from toplist.support.tables import series

JSON = "application/json"
NDJSON = "application/x-ndjson"
HTML = "text/html; charset=utf-8"
TEXT = "text/plain"
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
CHECKED_NAMES = 1000  # size of the cache of checked ranking names


class HttpRequest(NamedTuple):
    """An admitted and validated request."""

    path: tuple[Any, ...]  # parameters of the path, in order
    query: Any = None  # of the type of the route's `query`
    body: Any = None  # of the type of the route's `request`
    by: str = ""  # name of the API key; empty without keys
    key: KnownKey | None = None


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """A JSON response with its own status and headers."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class RawResponse(NamedTuple):
    """A response that is already encoded."""

    body: bytes
    media: str
    status: int = 200
    headers: Mapping[str, str] = NO_HEADERS


class StreamParts(Protocol):
    """The parts of a response."""

    async def read(self) -> bytes | None:
        """The next part, None after the last; the same again until `advance`."""
        ...

    def advance(self) -> None:
        """Go on to the part after the one that was read."""
        ...


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """A response that is too long to hold in memory."""

    parts: StreamParts
    media: str
    on_end: Callable[[], None] = lambda: None  # called when all is sent, and when the client disconnects

    def and_then(self, work: Callable[[], None]) -> StreamResponse:
        """The same, with more to do at its end."""

        def end() -> None:
            self.on_end()
            work()

        return StreamResponse(self.parts, self.media, end)


Response = Struct | JsonResponse | RawResponse | StreamResponse | None  # a Struct is sent with the route's own status
Handler = Callable[[Any, HttpRequest], Awaitable[Response]]  # called with the `Handlers` and the request
ReplySize = Callable[[Any, HttpRequest], int]  # the same


@dataclass(frozen=True, slots=True)
class Link:
    """An OpenAPI link: an operation that can follow a response, with its parameters as runtime expressions."""

    operation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Route:
    """One operation of the API: all data to dispatch and describe it."""

    method: Method
    path: str
    name: str  # `operationId` in OpenAPI
    summary: str
    handler: Handler
    tag: str
    scope: Scope | None = None  # of the API key it needs; None: public
    parameters: Mapping[str, Any] = field(default_factory=dict)  # types of the path's parameters
    query: type[Struct] | None = None
    request: Any = None  # type of the request body
    request_media: str = JSON  # text: a browser sends JSON so without asking first whether it may (CORS)
    status: int = 200
    reply: Any = None  # type of the response body; None: no body
    media: str = JSON
    problems: tuple[int, ...] = ()  # statuses besides those of every such route
    request_example: Any = None
    reply_example: Any = None
    links: tuple[Link, ...] = ()
    deprecated: bool = False
    changes: bool = True  # whether an admin's request that does not only read changes a ranking
    has_items: bool = False  # whether its body is a batch of items, which may be large
    checks_rankings: bool = False  # whether its handler heeds the rankings that a key is for; see `App`
    reply_size: ReplySize | None = None  # bytes of its reply before it is encoded, if that can be large
    most_texts: int | None = None  # in its body; more are refused before they are decoded
    most_entries: int | None = None  # the same of texts, numbers and all else; counted by their commas
    takes_turns: bool = False  # whether large bodies of it are read and answered in turn
    most_bytes: int | None = None  # of its body; None: as the settings say
    for_browsers: bool = False  # whether pages of named origins call it, with a token instead of a key
    for_visitors: bool = False  # whether the visitors of pages call it; their addresses are logged only if refused
    limited: bool = True  # whether it counts against the limits of in-flight requests and of callers without a key

    @property
    def is_change(self) -> bool:
        """Whether it changes a ranking or its items; such requests are named in the log, with the ranking."""
        return self.scope == "admin" and self.method != "GET" and self.changes

    @property
    def steps(self) -> list[str]:
        """The steps of the path."""
        return self.path.split("/")[1:]

    @property
    def names(self) -> list[str]:
        """The names of the path's parameters."""
        return [step[1:-1] for step in self.steps if step.startswith("{")]


class CompiledRoute:
    """A route with its decoders, built once."""

    __slots__ = (
        "_fits", "decode", "for_browsers", "for_visitors", "handler", "is_change", "label", "limited", "media", "names",
        "parameters", "path", "query", "reply_size", "request_media", "route", "scope", "status",
    )  # fmt: skip

    def __init__(self, route: Route) -> None:
        self.route = route
        self.handler = route.handler
        self.scope = route.scope
        self.limited = route.limited
        self.for_browsers = route.for_browsers
        self.for_visitors = route.for_visitors
        self.request_media = route.request_media.encode()
        self.is_change = route.is_change
        self.status = route.status
        self.reply_size = route.reply_size
        self.label = route.path
        self.media = route.media.encode()
        self.names = route.names
        # A Struct, since msgspec caches the validation of Structs and rebuilds that of other types at each call.
        fields = [(name, route.parameters[name]) for name in route.names]
        self.parameters = msgspec.defstruct("Parameters", fields, array_like=True)
        # The same few ranking names come with many requests, each impression with a few only.
        self._fits = _only_pattern([route.parameters[name] for name in route.names])
        self.path = lru_cache(CHECKED_NAMES)(self._check_path) if route.names == ["name"] else self._check_path
        self.query = route.query
        self.decode = msgspec.json.Decoder(route.request).decode if route.request is not None else None

    def _check_path(self, *found: str) -> tuple[Any, ...]:
        """The validated parameters of the path."""
        if self._fits is not None and self._fits(found[0]) is not None:
            return found
        try:
            return msgspec.structs.astuple(msgspec.convert(found, self.parameters))
        except msgspec.ValidationError:
            for name, text in zip(self.names, found, strict=True):
                try:
                    msgspec.convert(text, self.route.parameters[name])
                except msgspec.ValidationError as error:  # to name the wrong parameter
                    raise problems.unconvertible(name, text, error, self.route.parameters[name]) from None
            raise

    def parse_query(self, text: bytes) -> Any:
        """The validated parameters of the query; unknown and repeated ones are refused."""
        if not text:
            return None if self.query is None else self.query()
        known = [] if self.query is None else [each.encode_name for each in msgspec.structs.fields(self.query)]
        given: dict[str, str] = {}
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError:
            raise HttpProblem(
                "malformed", "The query cannot be read; percent-encode non-ASCII characters as UTF-8."
            ) from None
        for name, value in pairs:
            if name not in known:
                current = [] if self.query is None else current_fields(self.query)
                accepted = f"accepts {series(current)}" if current else "accepts none"
                advice = nearest_field(name, self.query, "leave it out") if current else "leave it out"
                raise problems.invalid_parameter(name, f"Unknown parameter {name!r}: this path {accepted}; {advice}.")
            if name in given:
                raise problems.invalid_parameter(name, f"{name} is given twice; give it once.")
            given[name] = value
        if self.query is None:
            return None
        for name, value in given.items():  # one by one, to name the wrong parameter
            try:
                msgspec.convert({name: value}, self.query, strict=False)
            except msgspec.ValidationError as error:
                raise problems.unconvertible(name, value, error, self.query, [name]) from None
        try:
            return msgspec.convert(given, self.query, strict=False)
        except msgspec.ValidationError as error:  # parameters that do not go together
            raise problems.invalid(f"{error}.") from None


def _only_pattern(kinds: list[Any]) -> Callable[[str], re.Match[str] | None] | None:
    """The search of a single text that needs nothing but to match a pattern; None for others.

    It is what msgspec does for such a text, in a third of the time.
    """
    if len(kinds) != 1:
        return None
    kind = msgspec.inspect.type_info(kinds[0])
    while isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    if not isinstance(kind, msgspec.inspect.StrType) or kind.pattern is None:
        return None
    has_length = kind.min_length is not None or kind.max_length is not None
    return None if has_length else re.compile(kind.pattern).search


class _Branch:
    """A node of the tree of paths."""

    __slots__ = ("any", "fixed", "route")

    def __init__(self) -> None:
        self.fixed: dict[str, _Branch] = {}
        self.any: _Branch | None = None
        self.route: CompiledRoute | None = None

    def add(self, steps: list[str], route: CompiledRoute) -> None:
        """Add a route."""
        branch = self
        for step in steps:
            if step.startswith("{"):
                branch.any = branch.any or _Branch()
                branch = branch.any
            else:
                branch = branch.fixed.setdefault(step, _Branch())
        if branch.route is not None:
            raise TypeError(f"two routes are {route.route.method} {route.label}")
        branch.route = route

    def find(self, steps: list[str]) -> tuple[CompiledRoute, list[str]] | None:
        """The route of a path and its raw parameters; a fixed step takes precedence over a parameter."""
        branch, found = self, []
        for step in steps:
            if (fixed := branch.fixed.get(step)) is not None:
                branch = fixed
            elif branch.any is not None and step:
                branch = branch.any
                found.append(step)
            else:
                return None
        return None if branch.route is None else (branch.route, found)


class Router:
    """Finds routes; one tree per method, so that an item may be named like a step of another method's path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._trees: dict[str, _Branch] = {}
        for route in routes:
            self._trees.setdefault(route.method, _Branch()).add(route.steps, CompiledRoute(route))

    def find(self, method: str, raw_path: bytes) -> tuple[CompiledRoute, list[str]]:
        """The route of a request and its raw path parameters; HEAD uses the routes of GET."""
        text = raw_path.decode("latin-1")
        steps = text.split("/")[1:]
        if "%" in text:
            try:
                steps = [unquote(step, errors="strict") for step in steps]
            except UnicodeDecodeError:
                raise HttpProblem(
                    "malformed", "The path cannot be read; percent-encode non-ASCII characters as UTF-8."
                ) from None
        tree = self._trees.get("GET" if method == "HEAD" else method)
        found = tree.find(steps) if tree is not None else None
        if found is not None:
            return found
        others = {name: match for name, tree in self._trees.items() if (match := tree.find(steps)) is not None}
        if not others:
            raise HttpProblem("no-such-path", f"No route matches {text[:200]!r}; see /openapi.json for all routes.")
        # Where several paths match, the one with the fewest parameters is meant.
        least = min(len(texts) for _, texts in others.values())
        allowed = sorted(name for name, (_, texts) in others.items() if len(texts) == least)
        if "GET" in allowed:
            allowed.append("HEAD")
        detail = f"{method[:20]} is not allowed here; use {series(allowed, 'or')}."
        raise HttpProblem("method-not-allowed", detail, headers={"allow": ", ".join(allowed)})

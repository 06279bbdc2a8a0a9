"""What a route is, and how the one for a request is found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct

from toplist.core.problem import nearest
from toplist.service.config import Scope
from toplist.service.http import problems
from toplist.service.http.problems import Problem

JSON = "application/json"
NDJSON = "application/x-ndjson"
HTML = "text/html; charset=utf-8"
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
KNOWN = 1000  # names that are known to be right


class Call(NamedTuple):
    """A request that was admitted, read and checked."""

    path: tuple[Any, ...]  # the parameters of the path, in their order
    query: Any = None  # the route's `query`
    body: Any = None  # the route's `request`


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer other than the route's usual one."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is written already."""

    body: bytes
    media: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is too long to hold."""

    pieces: AsyncIterator[bytes]
    media: str


Answer = Struct | Reply | Text | Stream | None
Handler = Callable[[Any, Call], Awaitable[Answer]]  # of the service's state and the request


@dataclass(frozen=True, slots=True)
class Link:
    """Where to go on from an answer: an operation, and its parameters as OpenAPI's expressions."""

    operation: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Route:
    """One operation of the API: everything that answering and describing it needs."""

    method: Method
    path: str
    name: str  # of the operation, for programs
    summary: str
    handler: Handler
    tag: str
    scope: Scope | None = None  # whose keys do; None: nobody needs one
    parameters: Mapping[str, Any] = field(default_factory=dict)  # types of the path's parameters
    query: type[Struct] | None = None
    request: Any = None  # the type of the body
    status: int = 200
    reply: Any = None  # the type of the answer's body; None: there is none
    media: str = JSON
    problems: tuple[int, ...] = ()  # besides those that every route of its kind has
    request_example: Any = None
    reply_example: Any = None
    links: tuple[Link, ...] = ()
    limited: bool = True  # whether a caller's requests to it are counted

    @property
    def steps(self) -> list[str]:
        """The path, taken apart."""
        return self.path.split("/")[1:]

    @property
    def names(self) -> list[str]:
        """The names of the path's parameters."""
        return [step[1:-1] for step in self.steps if step.startswith("{")]


class Compiled:
    """A route with what is made once for all its requests."""

    __slots__ = (
        "decode", "handler", "label", "media", "names", "parameters", "path", "query", "route", "scope", "status",
    )  # fmt: skip

    def __init__(self, route: Route) -> None:
        self.route = route
        self.handler = route.handler
        self.scope = route.scope
        self.status = route.status
        self.label = route.path
        self.media = route.media.encode()
        self.names = route.names
        # A structure, since its checks are made once, and those of another type whenever it is asked for.
        fields = [(name, route.parameters[name]) for name in route.names]
        self.parameters = msgspec.defstruct("Parameters", fields, array_like=True)
        # Names of rankings come again and again, which impressions do not.
        self.path = lru_cache(KNOWN)(self._checked) if route.names == ["name"] else self._checked
        self.query = route.query
        self.decode = msgspec.json.Decoder(route.request).decode if route.request is not None else None

    def _checked(self, *found: str) -> tuple[Any, ...]:
        """The parameters of the path, checked."""
        try:
            return msgspec.structs.astuple(msgspec.convert(found, self.parameters))
        except msgspec.ValidationError:
            for name, text in zip(self.names, found, strict=True):
                try:
                    msgspec.convert(text, self.route.parameters[name])
                except msgspec.ValidationError as error:  # which names the parameter alone
                    raise problems.unconverted(name, error) from None
            raise

    def asked(self, text: bytes) -> Any:
        """The parameters of the query, checked; each at most once, and none that is unknown."""
        if not text:
            return None if self.query is None else self.query()
        known = [] if self.query is None else [each.encode_name for each in msgspec.structs.fields(self.query)]
        given: dict[str, str] = {}
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError:
            raise Problem("malformed", "The query cannot be read; escape what is not ASCII as UTF-8.") from None
        for name, value in pairs:
            if name not in known:
                accepted = f"takes {' and '.join(known)}" if known else "takes none"
                advice = nearest(name, known, "leave it out")
                raise problems.parameter(
                    name, f"There is no parameter {name!r} here, but this path {accepted}; {advice}."
                )
            if name in given:
                raise problems.parameter(name, f"{name} is given twice; give it once.")
            given[name] = value
        if self.query is None:
            return None
        for name, value in given.items():  # one by one, so that a complaint can name its parameter
            try:
                msgspec.convert({name: value}, self.query, strict=False)
            except msgspec.ValidationError as error:
                raise problems.unconverted(name, error) from None
        return msgspec.convert(given, self.query, strict=False)


class _Branch:
    """Where a path goes on."""

    __slots__ = ("any", "fixed", "route")

    def __init__(self) -> None:
        self.fixed: dict[str, _Branch] = {}
        self.any: _Branch | None = None
        self.route: Compiled | None = None

    def grow(self, steps: list[str], route: Compiled) -> None:
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

    def find(self, steps: list[str]) -> tuple[Compiled, list[str]] | None:
        """The route of a path, and the texts of its parameters; a fixed step goes before a parameter."""
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
    """All routes: a tree for each method, so that an item may be called like a verb of another method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._trees: dict[str, _Branch] = {}
        for route in routes:
            self._trees.setdefault(route.method, _Branch()).grow(route.steps, Compiled(route))

    def find(self, method: str, raw_path: bytes) -> tuple[Compiled, list[str]]:
        """The route of a request and the texts of its parameters; HEAD is GET without the body."""
        text = raw_path.decode("latin-1")
        steps = text.split("/")[1:]
        if "%" in text:
            try:
                steps = [unquote(step, errors="strict") for step in steps]
            except UnicodeDecodeError:
                raise Problem("malformed", "The path cannot be read; escape what is not ASCII as UTF-8.") from None
        tree = self._trees.get("GET" if method == "HEAD" else method)
        found = tree.find(steps) if tree is not None else None
        if found is not None:
            return found
        others = {name: match for name, tree in self._trees.items() if (match := tree.find(steps)) is not None}
        if not others:
            raise Problem("no-such-path", f"There is nothing at {text[:200]!r}; /openapi.json says what there is.")
        # Of two paths that fit, the one with fewer parameters is meant.
        least = min(len(texts) for _, texts in others.values())
        allowed = sorted(name for name, (_, texts) in others.items() if len(texts) == least)
        if "GET" in allowed:
            allowed.append("HEAD")
        detail = f"{method[:20]} is not possible here, but {' and '.join(allowed)}."
        raise Problem("method-not-allowed", detail, headers={"allow": ", ".join(allowed)})

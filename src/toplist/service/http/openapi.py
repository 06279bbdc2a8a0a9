"""Generates /openapi.json (OpenAPI 3.1) from the table of routes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from toplist import __version__
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import JSON, Route
from toplist.service.wire import PROBLEM_MEDIA, PROBLEM_STATUSES, PROBLEM_TYPE_PREFIX, ProblemBody

_REF = "#/components/schemas/{name}"
_WAIT = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 1}}}
_REQUEST_ID = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "an id of this request for logs; a missing or invalid one is replaced",
    "schema": {"type": "string"},
}
_MEANINGS = {
    400: "The request cannot be read.",
    401: "The key is missing, unknown or expired.",
    403: "The key lacks the scope, or is for other rankings; or a token or an origin is not valid.",
    404: "The ranking, item, segment or impression does not exist.",
    406: "The Accept header excludes the media type of the response.",
    408: "The request did not arrive in time.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The Content-Type is not that of the body.",
    421: "Without keys, requests must be addressed to this machine.",
    422: "The request is invalid; errors point at the wrong fields.",
    429: "Too many requests; try again later.",
    431: "The head of the request is too large.",
    500: "An unexpected error.",
    503: "The store is unavailable, or too many requests are in flight; try again later.",
}


def document(routes: Iterable[Route] = ROUTES, *, with_keys: bool = True) -> dict[str, Any]:
    """The document; `with_keys` says whether API keys are configured, and so required."""
    routes = list(routes)
    types = [kind for route in routes for kind in (route.request, route.reply, route.query) if kind is not None]
    schemas, components = msgspec.json.schema_components([*types, ProblemBody], ref_template=_REF)
    by_type = {id(kind): schema for kind, schema in zip([*types, ProblemBody], schemas, strict=True)}
    queries = {route.query.__name__ for route in routes if route.query is not None}
    paths: dict[str, Any] = {}
    for route in routes:
        operation = _operation(route, by_type, components, with_keys)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "toplist",
            "version": __version__,
            "summary": "Ask for a list, show it, report clicks, watch it learn.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in components.items() if name not in queries},
            "responses": {f"Problem{status}": _problem_response(status) for status in _MEANINGS},
        },
    }
    if with_keys:
        about = "An API key. Each operation names the scope that it needs; a key may be for certain rankings alone."
        scheme = {"type": "http", "scheme": "bearer", "description": about}
        whole["components"]["securitySchemes"] = {"key": scheme}
    return whole


@cache  # it takes 15 ms, and is asked for again when settings are read again
def document_json(*, with_keys: bool) -> bytes:
    """The document as JSON."""
    return msgspec.json.format(msgspec.json.encode(document(with_keys=with_keys)), indent=1)


def _operation(route: Route, by_type: dict[int, Any], components: dict[str, Any], with_keys: bool) -> dict[str, Any]:
    response: dict[str, Any] = {"description": route.summary}
    if route.reply is not None:
        content: dict[str, Any] = {"schema": by_type[id(route.reply)]}
        if route.reply_example is not None:
            content["example"] = route.reply_example
        response["content"] = {route.media: content}
    if route.links:
        response["links"] = {
            link.operation: {"operationId": link.operation, "parameters": dict(link.parameters)} for link in route.links
        }
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.tag],
        "parameters": [*_path_parameters(route), *_query_parameters(route, components), _REQUEST_ID],
        "responses": {str(route.status): response} | _problem_references(route, with_keys),
    }
    if route.deprecated:
        operation["deprecated"] = True
    if route.request is not None:
        operation["requestBody"] = {"required": True, "content": {route.request_media: _body(route, by_type)}}
    if with_keys and route.scope is not None:
        operation["security"] = [{"key": [route.scope]}]
    return operation


def _body(route: Route, by_type: dict[int, Any]) -> dict[str, Any]:
    """The body of a request: JSON, or text that is JSON."""
    schema, example = by_type[id(route.request)], route.request_example
    if route.request_media == JSON:
        return {"schema": schema, "example": example}
    text = {"type": "string", "contentMediaType": JSON, "contentSchema": schema}
    return {"schema": text, "example": msgspec.json.encode(example).decode()}


def _path_parameters(route: Route) -> Iterable[dict[str, Any]]:
    for name in route.names:
        yield {"name": name, "in": "path", "required": True, "schema": msgspec.json.schema(route.parameters[name])}


def _query_parameters(route: Route, components: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if route.query is None:
        return
    described = components[route.query.__name__]
    for name, schema in described["properties"].items():
        # A query has no null: an optional parameter is left out instead.
        given = next((kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}), schema)
        parameter = {"name": name, "in": "query", "required": name in described.get("required", ()), "schema": given}
        yield parameter | ({"deprecated": True} if schema.get("deprecated") else {})


def problem_statuses(route: Route, with_keys: bool) -> list[int]:
    """The statuses of all problems that a route may respond with."""
    statuses = {400, 406, 408, 422, 431, 500, 503, *route.problems}  # 422: every route refuses unknown parameters
    if not with_keys:
        statuses.add(421)
    elif route.scope is not None:
        statuses |= {401, 403}
    if route.limited:
        statuses.add(429)
    if route.request is not None:
        statuses |= {413, 415}
    return sorted(statuses)


def _problem_references(route: Route, with_keys: bool) -> dict[str, Any]:
    return {
        str(status): {"$ref": f"#/components/responses/Problem{status}"}
        for status in problem_statuses(route, with_keys)
    }


def _problem_response(status: int) -> dict[str, Any]:
    """The response of all problems with a status."""
    phrase = HTTPStatus(status).phrase
    name = next(name for name, its in PROBLEM_STATUSES.items() if its == status)
    example = {
        "type": f"{PROBLEM_TYPE_PREFIX}{name}",
        "title": phrase,
        "status": status,
        "detail": _MEANINGS[status],
    }
    described: dict[str, Any] = {
        "description": _MEANINGS[status],
        "content": {PROBLEM_MEDIA: {"schema": {"$ref": _REF.format(name="ProblemBody")}, "example": example}},
    }
    if status in {429, 503}:
        described["headers"] = _WAIT
    return described

"""The table of all routes: requests are dispatched by it, and /openapi.json is generated from it."""

from __future__ import annotations

from typing import Any

from toplist import __version__
from toplist.service.http.assets import JAVASCRIPT
from toplist.service.http.handlers import Handlers
from toplist.service.http.live_view import EVENT_STREAM
from toplist.service.http.routing import HTML, NDJSON, TEXT, Link, Route
from toplist.service.wire import (
    MOST_IDS,
    ClusterView,
    Estimates,
    EstimatesQuery,
    Event,
    EventsQuery,
    Explanation,
    FileName,
    Health,
    History,
    ImportBody,
    ImportReply,
    Impression,
    ImpressionId,
    Item,
    ItemBody,
    ItemsBody,
    ItemsChanged,
    ItemsPage,
    ItemsQuery,
    ItemText,
    KeysPage,
    ListReply,
    ListRequest,
    LiveQuery,
    Name,
    NextList,
    NextQuery,
    Overview,
    OverviewQuery,
    Ranking,
    RankingChange,
    Rankings,
    RankingSpec,
    RankingView,
    RemoveBody,
    Removed,
    Report,
    ReportReply,
    Segment,
    SegmentsPage,
    SegmentsQuery,
    TokenReport,
    Uplift,
    UpliftQuery,
)
from toplist.service.wire.playground import PlaygroundChoices, Simulation, SimulationEvent

PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8"
IMPRESSION = "019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33"

_RANKING: dict[str, Any] = {
    "name": "front-page",
    "positions": 3,
    "policy": "dcm-ts",
    "click_window": 1800.0,
    "retention": None,
    "seed": 0,
    "steps": None,
    "features": 0,
    "person": 0,
    "join": "concatenate",
    "prior_mean": 0.5,
    "prior_strength": 0.0,
    "new_per_list": None,
    "reference": None,
    "propensities": False,
    "pool": "none",
    "pool_strength": None,
    "baseline": None,
    "mode": "live",
    "explore": 0.05,
    "holdout": 0.1,
    "holdout_learns": True,
    "stop_if": {"metric": "clicks_per_list", "worse_by": 0.05, "level": 0.05},
    "pins": {"1": "tea"},
    "when_unavailable": "refuse",
    "divisions": 1,
    "items": 3,
    "created": "2026-11-15T12:00:00.000Z",
    "stopped": False,
    "code": "3.11:e63db95306d10b7b234ac726e9b0967c",
    "code_warning": None,
}
_SERVER = "web-1:4711:5f0e6c1d"
_CLUSTER = {
    "age": 0.4,
    "servers": [{"name": _SERVER, "address": "10.0.0.5:8700", "seen": 0.4, "leaving": False, "here": True}],
    "partitions": [{"partition": 0, "owner": _SERVER, "epoch": 3, "last": 1200, "lease": 9.2, "lag": 0.0}],
}
_ITEM = {"id": "tea", "features": None, "hidden": False, "prior": {"mean": 0.2, "strength": 10.0}}
_CHANGED = {"added": 3, "changed": 0, "unchanged": 0}
_OF_ALL = {"segment": None, "key": None}  # a list without a segment
_LIST = {"impression": IMPRESSION, "items": ["coffee", "tea"], "ranking": "front-page", "deferred": False} | _OF_ALL
_TOKEN = "1.2026a.1763210000.019a8b5e7c1f7d3a9b425f0e6c1d2a33.zZ0kRk3bNnJ9y7mYI2bVb0Oq0Q5b7o1sH4wQm8nXk1A"
_COUNTED = {"impression": IMPRESSION, "counted": True}
_ESTIMATE = {"item": "tea", "examined": 40.0, "mean": 0.25, "low": 0.14, "high": 0.40, "index": None}
_REASON = {
    "position": 1, "item": "coffee", "examined": 40.0, "mean": 0.25, "bonus": None, "index": None,
    "why": "its random draw, mostly 0.14 to 0.40, is among the largest of 8 eligible",
}  # fmt: skip
_GROUP = {"visitors": 9_000, "lists": 20_000, "clicked": 5_000, "clicks": 6_000, "clicks_at_1": 3_000}
_HELD = {"visitors": 1_000, "lists": 2_200, "clicked": 500, "clicks": 600, "clicks_at_1": 280}
_BOUNDS = {"low": 0.0012, "high": 0.0533}
_UPLIFT: dict[str, Any] = {
    "ranking": "front-page", "mode": "live", "since": "2026-11-15T12:00:00.000Z", "policy": _GROUP, "holdout": _HELD,
    "metrics": [
        {
            "metric": "clicks_per_list", "policy": 0.3, "holdout": 0.2727,
            "difference": {"estimate": 0.0273, "sequence": _BOUNDS, "fixed_horizon": {"low": 0.0105, "high": 0.044}},
            "ratio": {"estimate": 1.1, "sequence": None, "fixed_horizon": None},
        },
    ],
    "sample_ratio": {"assigned": 0.1, "observed": 0.1, "p_value": 1.0, "level": 0.01, "alarm": False},
    "stopped": None,
    "slices": [{"name": "2026-11-15", "policy": _GROUP, "holdout": _HELD, "metrics": []}],
    "next": None,
}  # fmt: skip
_NAME = {"name": Name}
# A text takes up to a microsecond to decode, in which nobody else is served, and the numbers of items and clicks are
# checked afterwards. These limits are several times what 10,000 items and 2,000 clicks can have.
_TEXTS_OF_ITEMS, _TEXTS_OF_LIST, _TEXTS_OF_REPORT = 100_000, MOST_IDS, 20_000
_ENTRIES_OF_LIST = 100_000  # also the features of its items, of which a body of 1 MB has little more
_REPORT_BYTES = 64_000  # of a report from a browser: with keepalive, it may send 64 KiB
_MODEL_BYTES, _TEXTS_OF_MODEL = 4 << 20, 500_000  # of a simulation with a model, which its process reads
_CHOICES = {
    "policies": [{"name": "random", "title": "Random", "summary": "Shows a random list.", "parameters": []}],
    "users": [
        {"name": "dcm", "title": "DCM", "summary": "", "parameters": [{"name": "termination", "default": "0.5"}]},
    ],
    "limits": {
        "policies": 6, "items": 500, "positions": 20, "steps": 1_000_000, "runs": 100, "seconds": 120.0,
        "megabytes": 1024, "at_once": 1, "waiting": 4,
    },
}  # fmt: skip
_OF_ITEM = {"name": Name, "item": ItemText}
_OF_IMPRESSION = {"impression": ImpressionId}
_TO_RANKING = tuple(
    Link(operation, {"name": "$response.body#/name"})
    for operation in ("read_ranking", "change_ranking", "put_items", "make_list", "estimates", "delete_ranking")
)
_TO_IMPRESSION = tuple(
    Link(operation, {"impression": "$response.body#/impression"})
    for operation in ("report", "activate", "read_impression", "explain")
)

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST", path="/v1/rankings", name="create_ranking", tag="rankings", scope="admin",
        summary="Create a ranking.", handler=Handlers.create_ranking,
        request=RankingSpec, checks_rankings=True, status=201, reply=Ranking, problems=(409,), links=_TO_RANKING,
        request_example={"name": "front-page", "positions": 3, "policy": "dcm-ts"},
        reply_example=_RANKING | {"items": 0},
    ),
    Route(
        method="GET", path="/v1/rankings", name="list_rankings", tag="rankings", scope="read",
        summary="All rankings that the key is for.", handler=Handlers.list_rankings,
        checks_rankings=True, reply=Rankings, reply_size=Handlers.rankings_size,
        reply_example={"rankings": [_RANKING]},
    ),
    Route(
        method="GET", path="/v1/rankings/{name}", name="read_ranking", tag="rankings", scope="read",
        summary="One ranking.", handler=Handlers.read_ranking, parameters=_NAME,
        reply=Ranking, problems=(404,), reply_example=_RANKING,
    ),
    Route(
        method="PATCH", path="/v1/rankings/{name}", name="change_ranking", tag="rankings", scope="admin",
        summary="Change a ranking; new learners are trained from the event log before they serve.",
        handler=Handlers.change_ranking, parameters=_NAME,
        request=RankingChange, reply=Ranking, problems=(404, 409),
        request_example={"policy": "cascade-kl-ucb", "positions": 5, "click_window": 600, "holdout": 0.1},
        reply_example=_RANKING | {"policy": "cascade-kl-ucb", "positions": 5, "click_window": 600.0},
    ),
    Route(
        method="DELETE", path="/v1/rankings/{name}", name="delete_ranking", tag="rankings", scope="admin",
        summary="Delete a ranking with its items, lists, events and learners.",
        handler=Handlers.delete_ranking, parameters=_NAME,
        status=204, problems=(404,),
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/items", name="list_items", tag="items", scope="read",
        summary="The items, page by page.", handler=Handlers.list_items, parameters=_NAME,
        query=ItemsQuery, reply=ItemsPage, reply_size=Handlers.items_size, problems=(404,),
        reply_example={"items": [_ITEM], "next": None},
    ),
    Route(
        method="PUT", path="/v1/rankings/{name}/items", name="put_items", tag="items", scope="admin",
        summary="Add or change items, up to 10,000, all or none.", handler=Handlers.put_items, parameters=_NAME,
        request=ItemsBody, has_items=True, most_texts=_TEXTS_OF_ITEMS, reply=ItemsChanged, problems=(404, 409),
        request_example={
            "items": [{"id": "tea", "prior": {"mean": 0.2, "strength": 10}}, {"id": "coffee"}, {"id": "cocoa"}],
        },
        reply_example=_CHANGED,
    ),
    Route(
        method="POST", path="/v1/rankings/{name}/items/remove", name="remove_items", tag="items", scope="admin",
        summary="Remove items; after the reply they are in no list.", handler=Handlers.remove_items, parameters=_NAME,
        request=RemoveBody, has_items=True, most_texts=_TEXTS_OF_ITEMS, most_entries=_TEXTS_OF_ITEMS,
        reply=Removed, problems=(404, 409),
        request_example={"ids": ["tea", "cocoa"]}, reply_example={"removed": 2},
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/items/{item}", name="read_item", tag="items", scope="read",
        summary="One item.", handler=Handlers.read_item, parameters=_OF_ITEM,
        reply=Item, problems=(404,), reply_example=_ITEM,
    ),
    Route(
        method="PUT", path="/v1/rankings/{name}/items/{item}", name="put_item", tag="items", scope="admin",
        summary="Add or change one item.", handler=Handlers.put_item, parameters=_OF_ITEM,
        request=ItemBody, reply=ItemsChanged, problems=(404, 409),
        request_example={"hidden": True}, reply_example={"added": 0, "changed": 1, "unchanged": 0},
    ),
    Route(
        method="DELETE", path="/v1/rankings/{name}/items/{item}", name="remove_item", tag="items", scope="admin",
        summary="Remove an item; after the reply it is in no list.", handler=Handlers.remove_item, parameters=_OF_ITEM,
        status=204, problems=(404, 409),
    ),
    Route(
        method="POST", path="/v1/rankings/{name}/lists", name="make_list", tag="lists", scope="list",
        summary="Ask for a list to show; the same request_id gets the same list.",
        handler=Handlers.make_list, parameters=_NAME,
        request=ListRequest, most_texts=_TEXTS_OF_LIST, most_entries=_ENTRIES_OF_LIST, takes_turns=True,
        reply=ListReply, problems=(404, 409), links=_TO_IMPRESSION,
        request_example={"positions": 2, "exclude": ["cocoa"], "request_id": "page-view-4711"}, reply_example=_LIST,
    ),
    Route(
        method="PUT", path="/v1/impressions/{impression}/clicks", name="report", tag="lists", scope="report",
        summary="Report the clicks so far, as positions or items; repeated ones count once.",
        handler=Handlers.report, parameters=_OF_IMPRESSION,
        request=Report, most_texts=_TEXTS_OF_REPORT, most_entries=_TEXTS_OF_REPORT, takes_turns=True,
        reply=ReportReply, problems=(404,),
        request_example={"clicks": [1], "final": True}, reply_example=_COUNTED,
    ),
    Route(
        method="POST", path="/v1/reports", name="report_by_token", tag="browsers", for_browsers=True, for_visitors=True,
        summary="Report from a page of a named origin, by the token of the list.", handler=Handlers.report_by_token,
        request=TokenReport, request_media=TEXT, most_bytes=_REPORT_BYTES, most_texts=_TEXTS_OF_REPORT,
        most_entries=_TEXTS_OF_REPORT, reply=ReportReply, problems=(403, 404),
        request_example={"token": _TOKEN, "clicks": [{"position": 1}], "seen": [{"position": 1}]},
        reply_example=_COUNTED,
    ),
    Route(
        method="PUT", path="/v1/impressions/{impression}/activation", name="activate", tag="lists", scope="report",
        summary="Say that a deferred list is shown now.", handler=Handlers.activate, parameters=_OF_IMPRESSION,
        reply=ReportReply, problems=(404,), reply_example=_COUNTED,
    ),
    Route(
        method="GET", path="/v1/impressions/{impression}", name="read_impression", tag="lists", scope="read",
        summary="A list that was made, with its clicks so far.",
        handler=Handlers.read_impression, parameters=_OF_IMPRESSION,
        reply=Impression, problems=(404,),
        reply_example={
            "impression": IMPRESSION, "ranking": "front-page", **_OF_ALL, "items": ["coffee", "tea"],
            "state": "learned", "made": "2026-11-15T12:00:00.000Z", "due": "2026-11-15T12:30:00.000Z",
            "clicks": [1], "left": None, "seen": None, "reason": "final", "group": None, "would_show": None,
        },
    ),
    Route(
        method="GET", path="/v1/impressions/{impression}/explanation", name="explain", tag="lists", scope="read",
        summary="Why the items of a list are at their positions.", handler=Handlers.explain, parameters=_OF_IMPRESSION,
        reply=Explanation, problems=(404, 409),
        reply_example={
            "impression": IMPRESSION, "ranking": "front-page", **_OF_ALL,
            "positions": [_REASON],
        },
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/estimates", name="estimates", tag="learning", scope="read",
        summary="The estimates of the items: the largest index first, or the largest mean if the policy has no index.",
        handler=Handlers.estimates, parameters=_NAME,
        query=EstimatesQuery, reply=Estimates, reply_size=Handlers.estimates_size, problems=(404, 409),
        reply_example={
            "ranking": "front-page", **_OF_ALL, "policy": "dcm-ts", "learned": 120, "items": [_ESTIMATE],
        },
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/explanation", name="explain_next", tag="learning", scope="read",
        summary="The list that would be made next, and why; this makes none.",
        handler=Handlers.explain_next, parameters=_NAME,
        query=NextQuery, reply=NextList, problems=(404, 409),
        reply_example={
            "ranking": "front-page", **_OF_ALL, "policy": "dcm-ts", "learned": 120, "positions": [_REASON],
        },
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/uplift", name="uplift", tag="learning", scope="read",
        summary="How much more the policy earns than the baseline that the holdout gets.",
        handler=Handlers.uplift, parameters=_NAME,
        query=UpliftQuery, reply=Uplift, reply_size=Handlers.uplift_size, problems=(404, 409), reply_example=_UPLIFT,
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/history", name="history", tag="learning", scope="read",
        summary="Click-through so far, in points of equally many lists.",
        handler=Handlers.history, parameters=_NAME,
        reply=History, problems=(404,),
        reply_example={
            "ranking": "front-page", "lists": 10, "clicked": 4, "clicks": 5, "complete": True,
            "points": [{"lists": 10, "clicked": 4, "clicks": 5, "until": "2026-11-15T12:00:00.000Z"}],
        },
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/live", name="live", tag="browsers", scope="read",
        summary="A ranking with its current order and last events, as server-sent events whenever it changes.",
        handler=Handlers.live, parameters=_NAME,
        query=LiveQuery, reply=RankingView, media=EVENT_STREAM, problems=(404,),
    ),
    Route(
        method="GET", path="/v1/live", name="live_overview", tag="browsers", scope="read",
        summary="All rankings that the key is for, with click-through and uplift, as server-sent events.",
        handler=Handlers.live_overview, checks_rankings=True,
        query=OverviewQuery, reply=Overview, media=EVENT_STREAM,
    ),
    Route(
        method="PUT", path="/v1/rankings/{name}/learner", name="import_ranker", tag="learning", scope="admin",
        summary="Begin a learner with what a saved ranker has learned, before its first list.",
        handler=Handlers.import_ranker, parameters=_NAME,
        request=ImportBody, has_items=True, reply=ImportReply, problems=(404, 409),
        request_example={"ranker": "UEsDBC0AAAAAAA==", "segment": "query: red shoes"},
        reply_example={
            "ranking": "front-page", "segment": "query: red shoes", "key": "query: red shoes", "policy": "dcm-ts",
            "learned": 50_000, "items": 3,
        },
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/segments", name="list_segments", tag="learning", scope="read",
        summary="The segments that have a learner of their own, page by page.",
        handler=Handlers.list_segments, parameters=_NAME,
        query=SegmentsQuery, reply=SegmentsPage, reply_size=Handlers.segments_size, problems=(404,),
        reply_example={"segments": ["query: red shoes"], "next": None},
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/keys", name="list_keys", tag="learning", scope="read",
        summary="The segments under their former name, page by page.",
        handler=Handlers.list_keys, parameters=_NAME,
        query=SegmentsQuery, reply=KeysPage, reply_size=Handlers.segments_size, problems=(404,), deprecated=True,
        reply_example={"keys": ["query: red shoes"], "next": None},
    ),
    Route(
        method="DELETE", path="/v1/rankings/{name}/segments/{segment}", name="delete_segment", tag="learning",
        scope="admin", summary="Delete a segment with its learner, its lists and all of their events.",
        handler=Handlers.delete_segment, parameters=_NAME | {"segment": Segment}, status=204, problems=(404,),
    ),
    Route(
        method="DELETE", path="/v1/rankings/{name}/keys/{key}", name="delete_key", tag="learning", scope="admin",
        summary="Delete a segment, under its former name.",
        handler=Handlers.delete_segment, parameters=_NAME | {"key": Segment}, status=204, problems=(404,),
        deprecated=True,
    ),
    Route(
        method="GET", path="/v1/rankings/{name}/events", name="export", tag="learning", scope="admin",
        summary="The event log, one JSON object per line.", handler=Handlers.export, parameters=_NAME,
        query=EventsQuery, reply=Event, media=NDJSON, problems=(404,),
        reply_example={
            "seq": 7, "at": "2026-11-15T12:00:00.000Z", "ranking": "front-page", **_OF_ALL, "kind": "list",
            "impression": IMPRESSION, "body": {"items": ["coffee", "tea"]},
        },
    ),
    Route(
        method="GET", path="/v1/cluster", name="cluster", tag="service", scope="admin",
        summary="The servers of the database, and the partitions that each owns.", handler=Handlers.cluster,
        reply=ClusterView, reply_example=_CLUSTER,
    ),
    Route(
        method="GET", path="/healthz", name="health", tag="service", limited=False,
        summary="The process answers.", handler=Handlers.health,
        reply=Health, reply_example={"status": "ok", "version": __version__},
    ),
    Route(
        method="GET", path="/readyz", name="readiness", tag="service", limited=False,
        summary="The service takes requests.", handler=Handlers.readiness,
        reply=Health, reply_example={"status": "ready", "version": __version__},
    ),
    Route(
        method="GET", path="/metrics", name="metrics", tag="service", scope="read", limited=False,
        summary="Metrics for Prometheus.", handler=Handlers.show_metrics, reply=str, media=PROMETHEUS,
    ),
    Route(
        method="GET", path="/openapi.json", name="describe", tag="service",
        summary="This description.", handler=Handlers.describe, reply=dict[str, Any],
    ),
    Route(
        method="GET", path="/assets/{file}", name="asset", tag="browsers", parameters={"file": FileName},
        summary="A file for browsers, such as tracker.js, also by its name with a hash.", handler=Handlers.asset,
        reply=str, media=JAVASCRIPT, problems=(404,), for_visitors=True,
    ),
    Route(
        method="GET", path="/v1/playground", name="playground_choices", tag="playground", scope="admin",
        summary="What a simulation can have, and its limits.", handler=Handlers.playground_choices,
        reply=PlaygroundChoices, problems=(404,), reply_example=_CHOICES,
    ),
    Route(
        method="POST", path="/v1/playground/simulations", name="simulate", tag="playground", scope="admin",
        summary="Simulate policies side by side, as server-sent events; it ends with the connection.",
        handler=Handlers.simulate, changes=False,
        request=Simulation, has_items=True, most_bytes=_MODEL_BYTES, most_texts=_TEXTS_OF_MODEL,
        reply=SimulationEvent, media=EVENT_STREAM, problems=(404,),
        request_example={"policies": ["dcm-ts", "cascade-kl-ucb"], "users": "dcm", "steps": 10_000, "runs": 10},
    ),
    Route(
        method="GET", path="/playground", name="playground", tag="service",
        summary="The page with simulations.", handler=Handlers.show_playground, reply=str, media=HTML,
    ),
    Route(
        method="GET", path="/", name="page", tag="service",
        summary="The page with the live ranking.", handler=Handlers.show_page, reply=str, media=HTML,
    ),
)  # fmt: skip

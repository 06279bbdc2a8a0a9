"""The requests of the client, one function each; `Client` and `AsyncClient` have a method for each function."""

from toplist.service.client.requests.item_requests import item, items, put_item, put_items, remove_item, remove_items
from toplist.service.client.requests.learner_requests import (
    delete_segment,
    estimates,
    events,
    history,
    import_ranker,
    next_list,
    segments,
    uplift,
)
from toplist.service.client.requests.list_requests import activate, explanation, impression, make_list, report
from toplist.service.client.requests.ranking_requests import (
    change_ranking,
    create_ranking,
    delete_ranking,
    ranking,
    rankings,
)

__all__ = [
    "create_ranking",
    "rankings",
    "ranking",
    "change_ranking",
    "delete_ranking",
    "items",
    "put_items",
    "remove_items",
    "item",
    "put_item",
    "remove_item",
    "make_list",
    "report",
    "activate",
    "impression",
    "explanation",
    "estimates",
    "next_list",
    "history",
    "uplift",
    "segments",
    "import_ranker",
    "delete_segment",
    "events",
]

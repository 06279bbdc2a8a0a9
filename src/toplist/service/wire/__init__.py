"""The HTTP messages of the service: server, client and OpenAPI share these definitions.

Class names, fields and the docstrings of messages appear in /openapi.json: changing one changes the published API.
"""

from toplist.service.wire.cluster import ClusterPartition, ClusterServer, ClusterView
from toplist.service.wire.fields import (
    DOTS,
    INTEGER_RULE,
    IS_PLACE,
    ITEM_RULE,
    LARGEST,
    MOST_IDS,
    PATTERN_RULES,
    TEXT_RULE,
    FileName,
    ImpressionId,
    ItemText,
    Name,
    OfSegment,
    Segment,
    too_large,
)
from toplist.service.wire.items import (
    Item,
    ItemBody,
    ItemPrior,
    ItemsBody,
    ItemsChanged,
    ItemsPage,
    ItemsQuery,
    RemoveBody,
    Removed,
)
from toplist.service.wire.learning import (
    Estimate,
    Estimates,
    EstimatesQuery,
    Event,
    EventsQuery,
    Explanation,
    History,
    ImportBody,
    ImportReply,
    KeysPage,
    NextList,
    NextQuery,
    Point,
    Reason,
    SegmentsPage,
    SegmentsQuery,
)
from toplist.service.wire.lists import (
    Impression,
    ListEntry,
    ListReply,
    ListRequest,
    Report,
    ReportReply,
    SeenEntry,
    TokenReport,
)
from toplist.service.wire.live import (
    DetectedChange,
    FeatureWeight,
    LiveEvent,
    LiveItem,
    LiveQuery,
    Overview,
    OverviewQuery,
    RankingSummary,
    RankingView,
    SharePoint,
)
from toplist.service.wire.problems import PROBLEM_MEDIA, PROBLEM_STATUSES, PROBLEM_TYPE_PREFIX, Fault, ProblemBody
from toplist.service.wire.rankings import Health, Ranking, RankingChange, Rankings, RankingSpec, StopIf
from toplist.service.wire.uplift import (
    Bounds,
    ComparedGroups,
    GroupCounts,
    GuardrailStop,
    MetricUplift,
    SampleRatio,
    Uplift,
    UpliftQuery,
    UpliftSlice,
)

__all__ = [
    "DOTS", "Estimate", "Estimates", "EstimatesQuery", "Event", "EventsQuery", "Explanation", "Fault", "FileName",
    "Health",
    "History", "INTEGER_RULE", "IS_PLACE", "ITEM_RULE", "ImportBody", "ImportReply", "Impression", "ImpressionId",
    "Item", "ItemBody", "ItemPrior", "ItemText", "ItemsBody", "ItemsChanged", "ItemsPage", "ItemsQuery", "KeysPage",
    "LARGEST", "MOST_IDS", "ListEntry", "ListReply", "ListRequest", "LiveEvent", "LiveItem", "LiveQuery", "Name",
    "NextList", "NextQuery", "OfSegment", "PATTERN_RULES", "PROBLEM_MEDIA", "PROBLEM_STATUSES", "PROBLEM_TYPE_PREFIX",
    "Point", "ProblemBody", "Ranking", "RankingChange", "RankingSpec", "RankingView", "Rankings", "Reason",
    "RemoveBody", "Removed", "Report", "ReportReply", "SeenEntry", "Segment", "SegmentsPage", "SegmentsQuery",
    "TEXT_RULE", "TokenReport", "too_large",
]  # fmt: skip
__all__ += [
    "Bounds", "ClusterPartition", "ClusterServer", "ClusterView",
    "ComparedGroups", "DetectedChange", "FeatureWeight", "GroupCounts", "GuardrailStop", "MetricUplift",
    "Overview", "OverviewQuery", "RankingSummary", "SampleRatio", "SharePoint", "StopIf", "Uplift", "UpliftQuery",
    "UpliftSlice",
]  # fmt: skip

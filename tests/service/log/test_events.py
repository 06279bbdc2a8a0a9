"""Events of the log: what they say about a ranking does not depend on the defaults of the version that reads them."""

import json

from toplist.core.defaults import DEFAULT_POLICY
from toplist.service.log.events import RankingEvent, decode_ranking, encode
from toplist.service.wire import RankingSpec


def test_a_ranking_names_its_policy_so_that_another_default_does_not_change_it() -> None:
    written = json.loads(encode(RankingEvent(RankingSpec(name="page", positions=2))))
    assert written["spec"]["policy"] == DEFAULT_POLICY
    written["spec"]["policy"] = "dcm-kl-ucb"  # as an older version wrote it
    assert decode_ranking(json.dumps(written).encode()).spec.policy == "dcm-kl-ucb"

"""The short form of `make service-fuzz`."""

from fuzz import fuzz


def test_no_request_breaks_the_service_or_what_it_describes() -> None:
    outcome = fuzz(requests=1, examples=1, one_simulation_of=8)
    assert not outcome.failed, outcome.told
    assert outcome.requests > 500

"""Random histories of requests: the service does what a few lines of dictionaries would do."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from running import BY_FEATURES, ELIMINATION, POLICIES
from service_machine import ServiceMachine


@pytest.mark.slow
@pytest.mark.parametrize("policy", [POLICIES[0], BY_FEATURES, ELIMINATION])
def test_the_service_does_what_the_model_does(policy: str) -> None:
    machine = type(f"Machine of {policy}", (ServiceMachine,), {"policy": policy})
    run_state_machine_as_test(machine, settings=settings(max_examples=6, stateful_step_count=40, deadline=None))

"""What the service promises, in short; `make promises` has the long forms, and prints their figures."""

import pytest
from promises.catalogue import PROMISES


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if not promise.tested])
def test_promise_is_kept(name: str) -> None:
    print(PROMISES[name].kept(short=True))

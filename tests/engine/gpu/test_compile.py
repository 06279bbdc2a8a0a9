"""The loop compiles for CUDA without a GPU; `make gpu-compile` does so for every policy of the catalogue."""

import re

import pytest
from compile_catalogue import assembly


@pytest.mark.parametrize("policy", ["cascade-ucb1", "ranked-exp3", "dcm-ts"])
def test_policies_compile_for_cuda(policy: str) -> None:
    text = assembly(policy)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    # Sums round as on the CPU: of all products, only those of the library's own functions are fused.
    assert not re.search(r"\b(mul|add)\.f64", text)

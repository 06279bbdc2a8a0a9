"""What is asked of CUDA, on a stand-in for numba-cuda."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from toplist.engine.gpu.cuda_device import CudaDevice
from toplist.support.files import import_optional


class Driver:
    """A context with free memory, and some that would be free if somebody asked for it."""

    def __init__(self, free: int, pending: int) -> None:
        self.free, self.pending, self.deallocations = free, pending, self

    def current_context(self) -> Any:
        return self

    def get_memory_info(self) -> Any:
        return SimpleNamespace(free=self.free)

    def clear(self) -> None:
        self.free, self.pending = self.free + self.pending, 0


def test_memory_that_waits_to_be_freed_is_free() -> None:
    driver = Driver(free=1000, pending=9000)
    assert CudaDevice(driver, 0).free_bytes(enough=5000) == 9000


def test_kernels_need_not_wait_for_memory_that_is_not_needed() -> None:
    driver = Driver(free=1000, pending=9000)
    assert CudaDevice(driver, 0).free_bytes(enough=900) == 900
    assert driver.pending == 9000


@pytest.mark.parametrize(("code", "expected"), [("OUT_OF_MEMORY", MemoryError), ("LAUNCH_FAILED", None)])
def test_memory_that_is_missing_is_told_from_other_errors(code: str, expected: Any) -> None:
    driver = import_optional("numba.cuda.cudadrv.driver", "gpu")
    error = driver.CudaAPIError(getattr(driver.binding.CUresult, f"CUDA_ERROR_{code}"), "it failed")

    def fail(*_: Any) -> Any:
        raise error

    device = CudaDevice(SimpleNamespace(to_device=fail, device_array=fail), 0)
    with pytest.raises(expected or driver.CudaAPIError, match="it failed"):
        device.put(np.zeros(3))
    with pytest.raises(expected or driver.CudaAPIError, match="it failed"):
        device.repeat(np.zeros(3), 4)

"""Stand-ins in place of this machine's GPUs."""

import pytest
from host_device import HostDevice, Install

from toplist.engine import batch_scheduler
from toplist.engine.gpu import cuda_device


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let engine="gpu" play on stand-ins with so many bytes of memory each."""

    def with_memory(*memory: int, kind: type[HostDevice] = HostDevice) -> list[HostDevice]:
        devices = [kind(each) for each in memory]
        monkeypatch.setattr(cuda_device, "gpus", lambda: devices)
        monkeypatch.setattr(batch_scheduler, "gpus", lambda: devices)
        return devices

    return with_memory

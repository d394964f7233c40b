"""Which device, how exact, and what is said where it cannot be."""

import os
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from textmill.base.errors import UserError
from textmill.neural import device as device_module
from textmill.neural.device import prepare, usable_precision


def test_deterministic_kernels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    try:
        prepare("cpu", 1, deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    finally:
        prepare("cpu", 1)
    assert not torch.are_deterministic_algorithms_enabled()


class Called(TorchDispatchMode):
    """Names the operations that run, and how many numbers the first argument of each has."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: dict[str, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if args and isinstance(args[0], torch.Tensor):
            self.operations[func.name()] = args[0].numel()
        return func(*args, **(kwargs or {}))


def test_one_thread_chooses_the_kernels_before_any_work() -> None:
    """Two threads in MKL's first call: one of them may get `exp` with half the digits.

    That happens once in five thousand processes, too seldom to be waited for in a test.
    """
    with Called() as called:
        prepare("cpu", 2)
    assert called.operations == {"aten::exp": 1}


def test_bfloat16_is_not_emulated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a CPU without its instructions it takes three times as long as float32."""
    cpu = torch.device("cpu")
    for probe in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, probe, lambda: False, raising=False)
    assert usable_precision("bfloat16", cpu) == "float32"
    assert "this cpu has no bfloat16 instructions: training in float32" in caplog.text
    assert usable_precision("float32", cpu) == "float32"


def test_a_failed_trial_means_float32(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A processor may have the instructions, and torch no LSTM for them."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("could not create a primitive descriptor for an LSTM")

    monkeypatch.setattr(torch.nn.LSTM, "forward", fails)
    device_module._bfloat16_works.cache_clear()
    try:
        assert usable_precision("bfloat16", torch.device("cpu")) == "float32"
    finally:
        device_module._bfloat16_works.cache_clear()
    assert "training in float32" in caplog.text


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> list[torch.device]:
    """As if there were two CUDA devices; which of them was made the current one."""
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


@pytest.mark.parametrize("number", [0, 1])
def test_each_process_makes_the_device_of_its_number_the_current_one(
    two_devices: list[torch.device], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Else what NCCL sends would be on the first device in every process."""
    monkeypatch.setenv("LOCAL_RANK", str(number))
    assert prepare("auto", 1) == torch.device("cuda", number)
    assert two_devices == [torch.device("cuda", number)]


def test_more_processes_than_devices_are_refused(
    two_devices: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(
        UserError, match=r"process 3 has no CUDA device.*there are 2(.|\n)*processes: 2"
    ):
        prepare("cuda", 1)
    assert two_devices == []

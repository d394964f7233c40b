"""Where and with how many threads a network runs, and whether bfloat16 works there.

Thread counts are pinned by parameters, because one and two threads round differently. TF32 is
off everywhere: it would change scores in the fourth digit.

MKL chooses its kernels in its first call. Where two threads made that call together, one of them
had an `exp` of half the digits, about once in five thousand processes (measured: docs/results.md,
2026-12-01). So one thread makes it, before any work.

bfloat16 products double the training speed on CPUs that have instructions for them; on others they
are emulated at a third of the speed of float32 (measured), or the LSTM kernel is missing. There
training falls back to float32 and says so.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import nn

from textmill.base.errors import UserError
from textmill.neural.config import Device, Precision

_log = logging.getLogger(__name__)

_NO_MEMORY = ("allocate memory", "Storage size calculation overflowed")
"""How torch says on a CPU that there is not enough memory; it has no exception of its own."""

_WANTED = re.compile(r"tried to allocate ([\d.]+ ?\w+)", re.IGNORECASE)


def prepare(device: Device, threads: int, *, deterministic: bool = False) -> torch.device:
    """Pin threads and kernels, switch TF32 off, choose the device. UserError where CUDA is missing.

    Of several processes that torchrun started each takes the CUDA device of its own number.
    deterministic: CUDA kernels that repeat to the bit; they need their workspace set beforehand.
    """
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    else:
        # The same for False, which imports the compiler's two seconds.
        torch.set_deterministic_debug_mode("default")
    torch.set_num_threads(threads)
    _choose_kernels()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    available = torch.cuda.is_available()
    if device == "cuda" and not available:
        raise UserError(
            "device is cuda, but torch finds no CUDA device",
            where="params.yaml",
            next_step="set device: auto",
        )
    if not available or device == "cpu":
        return torch.device("cpu")
    return _own_cuda_device(int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count())


def _choose_kernels() -> None:
    """MKL's first call, in this thread alone: a single number is not shared among threads."""
    torch.zeros(1).exp()


def _own_cuda_device(number: int, there: int) -> torch.device:
    """The device of the process of this number, which is made the one that `cuda` means.

    UserError where fewer are there than processes were started.
    """
    if number >= there:
        raise UserError(
            f"process {number + 1} has no CUDA device of its own: there are {there}",
            where="params.yaml",
            next_step=f"set processes: {there}, or device: cpu",
        )
    device = torch.device("cuda", number)
    torch.cuda.set_device(device)
    return device


def usable_precision(wanted: Precision, device: torch.device) -> Precision:
    """`wanted`, or float32 with a warning where the LSTM kernel lacks bfloat16."""
    if wanted == "bfloat16" and not (_bfloat16_is_fast(device) and _bfloat16_works(device)):
        _log.warning("this %s has no bfloat16 instructions: training in float32", device.type)
        return "float32"
    _log.info("training in %s on %s", wanted, device.type)
    return wanted


def _bfloat16_is_fast(device: torch.device) -> bool:
    """Whether a CPU multiplies in bfloat16 itself; a GPU is told by the trial alone."""
    if device.type != "cpu":
        return True
    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, probe, bool)() for probe in probes)


@cache
def _bfloat16_works(device: torch.device) -> bool:
    layer = nn.LSTM(8, 8).to(device)
    try:
        with torch.autocast(device.type, torch.bfloat16):
            output, _ = layer(torch.zeros(2, 2, 8, device=device))
        output.float().sum().backward()
    except RuntimeError:
        return False
    return True


@contextmanager
def within_memory() -> Iterator[None]:
    """A network or a chunk that does not fit into memory is a UserError."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        is_memory = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not is_memory and not any(words in str(error) for words in _NO_MEMORY):
            raise
        wanted = _WANTED.search(str(error))
        raise UserError(
            "there is not enough memory" + (f" for {wanted[1]} more" if wanted else ""),
            where="training",
            next_step="lower embedding, hidden, layers, batch or bptt in params.yaml",
        ) from None

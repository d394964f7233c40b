"""A training run from its first step, or from its checkpoint, to the finished model."""

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from textmill.base.errors import UserError
from textmill.base.progress import Progress
from textmill.neural.config import NetworkConfig
from textmill.neural.device import within_memory
from textmill.neural.processes import leave
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

_log = logging.getLogger(__name__)


def train(
    lines_train: Lines,
    lines_valid: Lines,
    vocabulary: Vocabulary,
    config: NetworkConfig,
    *,
    folder: Path,
    scratch: Path,
    checkpoint_every: int = 200,
) -> Mapping[str, Any] | None:
    """Train and write the best network to `folder`, which arrives whole.

    scratch: keeps the checkpoint and the growing history; a run that finds one goes on from it.
    Returns device, its peak memory if it is a GPU, precision, rate, and the seconds that it took
    before it went on; None where
    several processes share it and another one writes. Raises UserError for a non-finite loss
    (naming the step), an empty split, a foreign checkpoint, a network that does not fit into
    memory.
    """
    if not len(lines_valid.tokens):
        raise UserError("the validation split holds no tokens", next_step="dvc repro")
    with within_memory():
        run = Training(lines_train, lines_valid, vocabulary, config, scratch)
        run.resume()
        run.write_history()  # whoever follows it learns that training has begun
        rate = _take_steps(run, checkpoint_every)
    leave()
    if not run.processes.is_first:
        return None
    _log.info("%s", run.ending())
    run.write_model(folder)
    on_gpu = run.device.type == "cuda"
    return {
        "device": run.device.type,
        **({"peak_device_memory_bytes": torch.cuda.max_memory_allocated()} if on_gpu else {}),
        "precision": run.precision,
        "tokens_per_second": rate,
        "seconds_before": run.seconds_before,
    }


def _take_steps(run: Training, checkpoint_every: int) -> float | None:
    """Train to the end; tokens a second, looks and checkpoints not counted."""
    seconds, tokens = 0.0, 0
    with Progress(run.budget.tokens(), "tokens", "training") as progress:
        progress.resume(run.chunks.tokens_until(run.step))
        while not run.finished:
            start = time.monotonic()
            loss, targets = run.take_step()
            seconds, tokens = seconds + time.monotonic() - start, tokens + targets
            facts = {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}
            if run.history.looks:
                facts["valid_loss"] = run.history.looks[-1].valid_loss
            if run.processes.is_first:
                progress.advance(targets, **facts)
            if run.is_time_to_look:
                run.look()
            if run.step % checkpoint_every == 0 or run.finished:
                run.save()
    return round(tokens / seconds, 1) if tokens else None

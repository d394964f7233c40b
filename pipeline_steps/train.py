"""Stage train: train a network, keeping the weights that are best on validation."""

import logging
import os
import signal
import sys
from typing import NoReturn

from pipeline_steps import settings
from textmill.base.files import write_atomically
from textmill.neural.config import NetworkConfig
from textmill.neural.train import train
from textmill.repository import layout
from textmill.shards.reader import read_split
from textmill.tokenizers import store


def main() -> None:
    """Write `models/KEY` and `history/KEY.csv`; several processes start as one."""
    key = settings.key()
    entry = settings.load("train", key)["networks"][key]
    config: NetworkConfig = settings.parse(NetworkConfig, entry, f"params.yaml: networks.{key}")
    if config.processes > 1 and "WORLD_SIZE" not in os.environ:
        start_together(config.processes, config.threads, key)
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    shards = layout.shards(config.tokenizer)
    scratch = settings.scratch()
    facts = train(
        read_split(shards, "train", vocabulary.fingerprint),
        read_split(shards, "valid", vocabulary.fingerprint),
        vocabulary,
        config,
        folder=layout.model(key),
        scratch=scratch,
    )
    if facts is None:
        return
    settings.record(**facts)
    write_atomically(layout.history(key), (layout.model(key) / "history.csv").read_bytes())


def start_together(processes: int, threads: int, key: str) -> NoReturn:
    """Start this step so many times by torchrun, here, in the child of DVC; end as they ended.

    What went wrong they say themselves (`settings.run`); torchrun's account of it is not printed.
    """
    # One process of one training needs nothing of this.
    from torch.distributed.elastic.multiprocessing.api import SignalException  # noqa: PLC0415
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError  # noqa: PLC0415
    from torch.distributed.run import main as torchrun  # noqa: PLC0415

    os.environ["OMP_NUM_THREADS"] = str(threads)
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    number = f"--nproc-per-node={processes}"
    try:
        torchrun(["--standalone", number, "-m", "pipeline_steps.train", key])
    except ChildFailedError:
        sys.exit(1)
    except SignalException as ended:
        if ended.sigval != signal.SIGINT:
            sys.exit(128 + ended.sigval)
        raise KeyboardInterrupt from None
    sys.exit(0)


if __name__ == "__main__":
    settings.run(main)

"""How many cores a stage wants: the thread count that it pins, never the machine's.

A thread count decides rounding, so a stage is made to wait for cores and is never given fewer.
It is known by what the stage declares: the parameters of a network (`threads`, in training for each
of `processes`), an entry of `ngrams`, which is estimated and scored by threads, a vocabulary, whose
text is counted by threads and learnt from by sentencepiece's, or a folder of shards, which so many
workers fill.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.neural.config import NetworkConfig
from textmill.ngram.threads import THREADS as NGRAM_THREADS
from textmill.repository import layout
from textmill.repository.stages import Stage, read_stages, read_yaml
from textmill.shards.work import WORKERS as SHARD_WORKERS
from textmill.tokenizers.counting import THREADS as COUNTING_THREADS
from textmill.tokenizers.subwords import THREADS as SUBWORD_THREADS


def read_cores(root: Path = Path()) -> dict[str, int]:
    """Cores of every stage of dvc.yaml that runs a command."""
    params = read_yaml(root / layout.PARAMS)
    return {stage.name: cores_of(stage, params) for stage in read_stages(root)}


def cores_of(stage: Stage, params: Mapping[str, Any]) -> int:
    """The threads that a stage pins; 1 where it pins none."""
    networks: Mapping[str, Any] = params.get("networks") or {}
    tokenizers: Iterable[str] = params.get("tokenizers") or ()
    pinned = [1]
    for name, entry in networks.items():
        if f"networks.{name}" in stage.params:
            trains = str(layout.model(name)) in stage.outs
            processes = _count(name, entry, "processes") if trains else 1
            pinned.append(_count(name, entry, "threads") * processes)
    for name in params.get("ngrams") or {}:
        pinned += [NGRAM_THREADS] * (f"ngrams.{name}" in stage.params)
    for name in tokenizers:
        if str(layout.vocabulary(name)) in stage.outs:
            pinned.append(max(COUNTING_THREADS, SUBWORD_THREADS))
        if str(layout.shards(name)) in stage.outs:
            pinned.append(SHARD_WORKERS)
    return max(pinned)


def _count(name: str, entry: Any, option: str) -> int:
    default = NetworkConfig.__dataclass_fields__[option].default
    count = entry.get(option, default) if isinstance(entry, Mapping) else default
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UserError(
            f'"{option}" must be a whole number greater than 0 (it is {count!r})',
            where=f"{layout.PARAMS}: networks.{name}",
        )
    return count

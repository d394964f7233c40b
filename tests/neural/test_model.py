"""A network as a language model: exact numbers, invariances, and files that fit or are refused."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from textmill.base.errors import UserError
from textmill.base.files import write_sealed
from textmill.neural import heads
from textmill.neural.config import NetworkConfig
from textmill.neural.model import NetworkModel, load
from textmill.neural.model_files import save_model
from textmill.neural.network import Network
from textmill.scoring.likelihood import token_nats
from textmill.scoring.protocol import LanguageModel
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, END, Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[[Sequence[Sequence[Sequence[int]]]], Lines]

SIZE = 30


@pytest.fixture
def model(make_config: Configure, make_vocabulary: Speak) -> NetworkModel:
    """Random weights, large enough that context matters."""
    torch.manual_seed(5)
    network = Network(SIZE, make_config())
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4)
    return NetworkModel(network.double(), make_vocabulary(SIZE))


def _ids(streams: int, length: int) -> np.ndarray:
    return np.random.default_rng(2).integers(2, SIZE, (streams, length))


def _write(folder: Path, model: NetworkModel, config: NetworkConfig) -> None:
    facts = {"config": config.as_json(), "vocabulary": model.vocabulary.fingerprint}
    save_model(folder, facts, model.network.state_dict(), "step\n")


def test_equal_logits_cost_exactly_the_event_space(model: NetworkModel) -> None:
    with torch.no_grad():
        for parameter in model.network.parameters():
            parameter.zero_()
    nats, _ = model.score(_ids(3, 11), model.start(3))
    assert nats.dtype == np.float64
    assert math.exp(nats.sum() / nats.size) == pytest.approx(SIZE - 1, rel=1e-12)


def test_score_and_distribution_agree_and_sum_to_one(model: NetworkModel) -> None:
    protocol: LanguageModel = model
    ids_BT = _ids(2, 6)
    state = protocol.start(2)
    for t in range(ids_BT.shape[1]):
        log_probs = protocol.distribution(state)
        assert np.all(log_probs[:, BEGIN] == -np.inf)
        assert np.exp(log_probs).sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
        nats, state = protocol.score(ids_BT[:, t : t + 1], state)
        assert nats[:, 0] == pytest.approx(-log_probs[[0, 1], ids_BT[:, t]], abs=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-6)])
def test_chunks_and_batches_change_nothing(
    model: NetworkModel, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.network.to(dtype)
    ids_BT = _ids(5, 40)
    whole, _ = model.score(ids_BT, model.start(5))
    for chunk in (1, 7, 40):
        state, parts = model.start(5), []
        for first in range(0, 40, chunk):
            part, state = model.score(ids_BT[:, first : first + chunk], state)
            parts.append(part)
        chunked = np.concatenate(parts, axis=1)
        assert abs(chunked.sum() / whole.sum() - 1) < tolerance
    alone = [model.score(ids_BT[b : b + 1], model.start(1))[0] for b in range(5)]
    assert abs(np.sum(alone) / whole.sum() - 1) < tolerance
    monkeypatch.setattr(heads, "FEW_LOGITS", 3 * SIZE)
    asked, nats = [], model.network.nats
    monkeypatch.setattr(
        model.network, "nats", lambda output, ids: asked.append(len(ids)) or nats(output, ids)
    )
    bounded, _ = model.score(ids_BT, model.start(5))
    assert max(asked) == 3
    assert np.allclose(bounded, whole, rtol=0, atol=10 * tolerance)


def test_changing_a_token_changes_no_score_before_it(model: NetworkModel) -> None:
    ids_BT = _ids(1, 12)
    changed = ids_BT.copy()
    changed[0, 6] = 2 if ids_BT[0, 6] != 2 else 3
    one, _ = model.score(ids_BT, model.start(1))
    two, _ = model.score(changed, model.start(1))
    assert np.array_equal(one[0, :6], two[0, :6])
    assert np.all(one[0, 6:] != two[0, 6:])


def test_documents_are_scored_afresh_and_padding_costs_nothing(
    model: NetworkModel, make_lines: Write
) -> None:
    rng = np.random.default_rng(0)
    documents = [
        [[*rng.integers(3, SIZE, length), END] for length in lengths]
        for lengths in ([4, 9], [1], [30, 2, 5])
    ]
    nats = token_nats(model, make_lines(documents), streams=3, chunk=8)
    flat = [np.concatenate(document)[None] for document in documents]
    alone = [model.score(ids_BT, model.start(1))[0][0] for ids_BT in flat]
    assert np.allclose(nats, np.concatenate(alone), rtol=0, atol=1e-9)


def test_a_loaded_model_scores_the_same_and_stays_tied(
    tmp_path: Path, model: NetworkModel, make_config: Configure
) -> None:
    model.network.float()
    _write(tmp_path / "m", model, make_config())
    loaded = load(tmp_path / "m", model.vocabulary, threads=1, device="cpu")
    ids_BT = _ids(2, 9)
    before, _ = model.score(ids_BT, model.start(2))
    assert np.array_equal(loaded.score(ids_BT, loaded.start(2))[0], before)
    assert set(loaded.network.state_dict()).isdisjoint({"head.weight", "head.tied"})
    with torch.no_grad():
        loaded.network.embedding.weight[7] += 1.0
    moved = loaded.distribution(loaded.start(1))[0, 7] - model.distribution(model.start(1))[0, 7]
    assert abs(moved) > 1e-3
    double = load(tmp_path / "m", model.vocabulary, threads=1, device="cpu", dtype=torch.float64)
    assert np.allclose(double.score(ids_BT, double.start(2))[0], before, atol=1e-4)


def test_a_foreign_or_damaged_folder_is_refused(
    tmp_path: Path, model: NetworkModel, make_config: Configure, make_vocabulary: Speak
) -> None:
    folder = tmp_path / "m"
    _write(folder, model, make_config())
    with pytest.raises(UserError, match="another vocabulary"):
        load(folder, make_vocabulary(SIZE + 1), threads=1)
    weights = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(UserError, match=r"weights\.safetensors is not whole"):
        load(folder, model.vocabulary, threads=1)
    facts = json.loads((folder / "model.json").read_text())
    flipped = bytearray(weights)
    flipped[-9] ^= 1
    (folder / "weights.safetensors").write_bytes(flipped)
    with pytest.raises(UserError, match=r"weights\.safetensors is damaged: it is not the file"):
        load(folder, model.vocabulary, threads=1)
    (folder / "weights.safetensors").write_bytes(weights)
    facts["config"]["hidden"] = 16
    (folder / "model.json").write_text(json.dumps(facts))
    with pytest.raises(UserError, match=r"model\.json is not as it was written"):
        load(folder, model.vocabulary, threads=1)
    del facts["checksum"]
    write_sealed(folder / "model.json", facts)
    with pytest.raises(UserError, match="do not fit"):
        load(folder, model.vocabulary, threads=1)
    write_sealed(folder / "model.json", {**facts, "format": "other"})
    with pytest.raises(UserError, match="no textmill network 4 model"):
        load(folder, model.vocabulary, threads=1)

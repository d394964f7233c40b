"""Beginning with another model's weights, or being told what differs."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.neural.config import NetworkConfig
from textmill.neural.initial import begin_from
from textmill.neural.model_files import save_model
from textmill.neural.network import Network
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END, Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]

SIZE = 20


@pytest.fixture
def given(tmp_path: Path, make_config: Configure, make_vocabulary: Speak) -> tuple[Network, str]:
    """A saved network and the digest of its weights."""
    torch.manual_seed(3)
    network = Network(SIZE, make_config())
    facts = {"config": make_config().as_json(), "vocabulary": make_vocabulary(SIZE).fingerprint}
    save_model(tmp_path / "first", facts, network.state_dict(), "step\n")
    return network, sha256_of(tmp_path / "first/weights.safetensors")


def test_training_begins_with_those_weights_and_all_else_anew(
    given: tuple[Network, str], tmp_path: Path, make_config: Configure, make_vocabulary: Speak,
    make_lines: Write,
) -> None:  # fmt: skip
    network, digest = given
    config = make_config(
        init_from=str(tmp_path / "first"), init_from_sha256=digest, implementation="reference",
        head="chunked", dropout=0.3, learning_rate=0.1,
    )  # fmt: skip
    lines = make_lines([[[*range(3, SIZE), END]] * 3])
    run = Training(lines, lines, make_vocabulary(SIZE), config, tmp_path / "scratch")
    for name, weight in network.state_dict().items():
        assert torch.equal(run.network.state_dict()[name], weight), name
    assert run.step == 0
    assert not run.optimiser.state_dict()["state"]


def test_attention_may_look_further_than_it_was_trained_to(
    tmp_path: Path, make_config: Configure, make_vocabulary: Speak
) -> None:
    """Its weights do not depend on the window; those of the feed-forward network do."""
    for architecture, said in (("attention_lstm", None), ("feed_forward", "window is 3 in")):
        folder, vocabulary = tmp_path / architecture, make_vocabulary(SIZE)
        first = make_config(architecture=architecture, window=3)
        facts = {"config": first.as_json(), "vocabulary": vocabulary.fingerprint}
        network = Network(SIZE, first)
        save_model(folder, facts, network.state_dict(), "step\n")
        config = make_config(
            architecture=architecture, window=5, init_from=str(folder),
            init_from_sha256=sha256_of(folder / "weights.safetensors"),
        )  # fmt: skip
        other = Network(SIZE, config)
        if said:
            with pytest.raises(UserError, match=said):
                begin_from(other, config, vocabulary)
        else:
            begin_from(other, config, vocabulary)
            assert torch.equal(next(other.parameters()), next(network.parameters()))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden": 13}, "hidden is 12 in .*first, 13 here"),
        ({"architecture": "gru"}, "architecture is 'lstm' in .*first, 'gru' here"),
        ({"tied": False}, "tied is True in .*first, False here"),
        ({"head": "adaptive", "cutoffs": (4,)}, "head is 'full' in .*first, 'adaptive' here"),
        ({"head": "adaptive"}, "head is 'full' in .*first, 'adaptive' here"),
        ({"layers": 1}, "layers is 2 in .*first, 1 here"),
        ({"init_from_sha256": "0" * 64}, r"weights\.safetensors has sha256 (?!0000)"),
    ],
)
def test_what_differs_is_named(
    given: tuple[Network, str], tmp_path: Path, make_config: Configure, make_vocabulary: Speak,
    changes: dict[str, object], said: str,
) -> None:  # fmt: skip
    options = {"init_from": str(tmp_path / "first"), "init_from_sha256": given[1], **changes}
    config = make_config(**options)
    with pytest.raises(UserError, match=said):
        begin_from(Network(SIZE, config), config, make_vocabulary(SIZE))


def test_another_vocabulary_is_refused(
    given: tuple[Network, str], tmp_path: Path, make_config: Configure, make_vocabulary: Speak
) -> None:
    config = make_config(init_from=str(tmp_path / "first"), init_from_sha256=given[1])
    with pytest.raises(UserError, match="another vocabulary"):
        begin_from(Network(SIZE + 1, config), config, make_vocabulary(SIZE + 1))


def test_a_folder_without_weights_is_named(
    tmp_path: Path, make_config: Configure, make_vocabulary: Speak
) -> None:
    config = make_config(init_from=str(tmp_path / "frist"), init_from_sha256="0" * 64)
    with pytest.raises(UserError, match=r"there are no weights in .*frist") as refused:
        begin_from(Network(SIZE, config), config, make_vocabulary(SIZE))
    assert refused.value.next_step == (
        "name the folder of a finished model, or leave init_from out"
    )

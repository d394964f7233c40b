"""Files of a trained network: who may read them."""

from pathlib import Path

import torch

from textmill.neural.model_files import save_model, save_tensors


def test_weights_may_be_read_by_whom_other_files_may(tmp_path: Path) -> None:
    save_model(tmp_path / "m", {"config": {}}, {"w": torch.ones(3)}, "step\n")
    modes = {path.stat().st_mode for path in (tmp_path / "m").iterdir()}
    (tmp_path / "any").touch()
    assert modes == {(tmp_path / "any").stat().st_mode}


def test_what_was_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_tensors({"w": torch.ones(3)}, path)
    long = path.read_bytes()
    save_tensors({"w": torch.ones(1)}, path)
    assert path.stat().st_size == len(long) - 8

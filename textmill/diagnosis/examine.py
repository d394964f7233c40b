"""All that can be found out about a model: everything of a network, less of another kind."""

import numpy as np
from torch import Tensor

from textmill.diagnosis.excerpts import excerpts
from textmill.diagnosis.power import dominant, share, share_by_chance
from textmill.diagnosis.records import Gate, Matrix
from textmill.diagnosis.unrolled import TARGETS, gates, hidden_gradients, median_norms, unroll
from textmill.neural.inside import recurrent_layers, recurrent_matrices
from textmill.neural.network import Network
from textmill.shards.reader import Lines

EXCERPTS = 24
STEPS_BACK = 60


def examine_recurrence(
    network: Network, lines: Lines
) -> tuple[dict[str, tuple[float, ...]], tuple[Matrix, ...], tuple[Gate, ...]]:
    """Gradients by steps back, recurrent matrices and gates of a network reading `lines`."""
    ids_TB = excerpts(lines, EXCERPTS, STEPS_BACK + TARGETS, shortest=TARGETS + 2)
    unrolled = unroll(network, ids_TB)
    gradients = hidden_gradients(network, unrolled)
    norms = {name: median_norms(found) for name, found in gradients.items()}
    return norms, _matrices(network, gradients.get("h")), gates(network, unrolled)


def _matrices(network: Network, gradients: Tensor | None) -> tuple[Matrix, ...]:
    """Every recurrent matrix, held against the gradients (targets, K, B, LH) furthest back."""
    layers = recurrent_layers(network)
    if gradients is None:
        return ()
    furthest = gradients[:, -1].flatten(0, 1).double().cpu().numpy()
    parts = np.split(furthest, len(layers), axis=1)
    return tuple(
        _matrix(number + 1, gate, matrix.double().cpu().numpy(), parts[number])
        for number, layer in enumerate(layers)
        for gate, matrix in recurrent_matrices(layer).items()
    )


def _matrix(layer: int, gate: str, matrix_HH: np.ndarray, gradients_NH: np.ndarray) -> Matrix:
    found, transposed = dominant(matrix_HH), dominant(matrix_HH.T)
    return Matrix(
        layer=layer,
        gate=gate,
        radius=found.radius,
        turns=found.basis.shape[1] == 2,
        direction=tuple(tuple(column.tolist()) for column in found.basis.T),
        converged=found.converged and transposed.converged,
        alignment=share(gradients_NH, transposed.basis),
        by_chance=share_by_chance(transposed.basis),
    )

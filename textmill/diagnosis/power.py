"""Spectral radius and dominant direction of a recurrent matrix, by power iteration.

Multiplied again and again, any vector turns towards the eigenvector of the largest eigenvalue. A
real matrix often has a complex pair there, which turns vectors in a plane for ever; so two
orthogonal vectors are iterated side by side, and the 2 x 2 matrix that the plane makes of W has the
dominant eigenvalues (orthogonal iteration; Golub and Van Loan, "Matrix Computations", 7.3). Back-
propagation multiplies gradients by W transposed: they turn towards its dominant direction.

Suffixes: H hidden, D 1 or 2 dimensions.
"""

from dataclasses import dataclass

import numpy as np

MOST_ROUNDS = 20_000
TOLERANCE = 1e-9
CHECKED_EVERY = 20


@dataclass(frozen=True, slots=True)
class Dominant:
    """radius: of the eigenvalue. basis: (H, D) orthonormal; D is 2 for a complex pair.

    converged: whether a line or plane was found that the matrix maps into itself.
    """

    radius: float
    basis: np.ndarray
    converged: bool


def dominant(matrix_HH: np.ndarray) -> Dominant:
    """The largest eigenvalue's absolute value, and the direction or plane that belongs to it."""
    matrix_HH = np.asarray(matrix_HH, dtype=np.float64)
    size = len(matrix_HH)
    basis = _orthonormal(np.random.default_rng(0).normal(size=(size, min(2, size))))
    growth = []
    for done in range(1, MOST_ROUNDS + 1):
        product = matrix_HH @ basis
        if not product.any():
            return Dominant(0.0, basis[:, :1], True)
        if done % CHECKED_EVERY == 0:
            found = _of_plane(matrix_HH, basis)
            if found.converged:
                return found
        growth.append(float(np.linalg.norm(product[:, 0])))
        basis = _orthonormal(product)
    # Several eigenvalues are equally large: no direction wins, but a vector grows by the radius.
    later = np.log(np.maximum(growth[MOST_ROUNDS // 2 :], np.finfo(float).tiny))
    return Dominant(float(np.exp(later.mean())), basis, False)


def share(gradients_NH: np.ndarray, basis_HD: np.ndarray) -> float:
    """Median length of the part of each row in the plane, the row's own length being 1."""
    lengths = np.linalg.norm(gradients_NH, axis=1)
    inside = np.linalg.norm(gradients_NH @ basis_HD, axis=1)
    return float(np.median(inside[lengths > 0] / lengths[lengths > 0])) if lengths.any() else 0.0


def share_by_chance(basis_HD: np.ndarray) -> float:
    """The same of random directions: the root of the mean square."""
    return float(np.sqrt(basis_HD.shape[1] / basis_HD.shape[0]))


def _of_plane(matrix_HH: np.ndarray, basis_HD: np.ndarray) -> Dominant:
    values, vectors = np.linalg.eig(basis_HD.T @ matrix_HH @ basis_HD)
    first = int(np.argmax(np.abs(values)))
    value, vector_H = values[first], basis_HD @ vectors[:, first]
    radius = float(np.abs(value))
    left_over = np.linalg.norm(matrix_HH @ vector_H - value * vector_H)
    converged = bool(left_over <= TOLERANCE * max(radius, np.finfo(float).tiny))
    if np.iscomplex(value):
        return Dominant(radius, basis_HD, converged)
    direction_H = np.real(vector_H)
    return Dominant(radius, (direction_H / np.linalg.norm(direction_H))[:, None], converged)


def _orthonormal(vectors: np.ndarray) -> np.ndarray:
    basis: np.ndarray = np.linalg.qr(vectors)[0]
    return basis

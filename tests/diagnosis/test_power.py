"""Power iteration finds what the eigenvalue routine finds, a line or a plane."""

import numpy as np
import pytest

from textmill.diagnosis.power import dominant, share, share_by_chance


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("seed", range(6))
def test_radius_and_invariant_direction_of_random_matrices(seed):
    matrix = np.random.default_rng(seed).normal(size=(20, 20)) / 4
    found = dominant(matrix)
    values = np.linalg.eigvals(matrix)
    largest = values[np.argmax(np.abs(values))]
    assert found.converged
    assert found.radius == pytest.approx(np.abs(largest), rel=1e-8)
    assert found.basis.shape == (20, 1 if largest.imag == 0 else 2)
    assert found.basis.T @ found.basis == pytest.approx(np.eye(found.basis.shape[1]), abs=1e-12)
    # The matrix maps the line or plane into itself.
    image = matrix @ found.basis
    assert found.basis @ (found.basis.T @ image) == pytest.approx(image, abs=1e-7)


def test_both_kinds_occur_among_the_random_ones():
    seen = {
        dominant(np.random.default_rng(seed).normal(size=(20, 20))).basis.shape[1]
        for seed in range(6)
    }
    assert seen == {1, 2}


def test_a_turning_plane_is_found_where_it_lies():
    matrix = np.zeros((5, 5))
    matrix[1:3, 1:3] = 0.9 * rotation(0.7)
    matrix[4, 4] = 0.5
    found = dominant(matrix)
    assert found.radius == pytest.approx(0.9)
    assert np.abs(found.basis[[0, 3, 4]]).max() < 1e-8
    gradients = np.array([[0, 3.0, 4.0, 0, 0], [2.0, 0, 0, 0, 0], [0, 1.0, 0, 1.0, 0]])
    assert share(gradients, found.basis) == pytest.approx(np.sqrt(0.5))
    assert share_by_chance(found.basis) == pytest.approx(np.sqrt(2 / 5))


def test_a_matrix_that_forgets_everything_has_radius_zero():
    assert dominant(np.zeros((4, 4))).radius == 0
    assert dominant(np.diag([1.0, 1.0], k=1)).radius == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("radius", [0.8, 1.25])
def test_where_no_direction_wins_the_radius_is_the_growth(radius):
    """A permutation turns everything for ever: all eigenvalues are equally large."""
    matrix = radius * np.eye(6)[[1, 2, 0, 4, 5, 3]]
    found = dominant(matrix)
    assert not found.converged
    assert found.radius == pytest.approx(radius, rel=1e-9)
    assert np.abs(np.linalg.eigvals(matrix)).max() == pytest.approx(radius)


def test_one_number_is_its_own_radius():
    assert dominant(np.array([[-0.3]])).radius == pytest.approx(0.3)

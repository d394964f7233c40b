"""Back-propagation through time by hand, for people who learn: a simple RNN and its gradients.

    h_t = tanh(W_hx x_t + W_hh h_{t-1})        o_t = W_qh h_t        L = sum over t of l_t(o_t)

L depends on h_t in two ways: through the output o_t of the same step, and through the next hidden
state. The second way leads through the tanh, whose derivative at a value h of tanh is 1 - h^2, so

    dL/dh_t = W_qh' dL/do_t + W_hh' ((1 - h_{t+1}^2) * dL/dh_{t+1})

from the last step, where only the first term is there, back to the first (' transposes, * is
element by element). Each weight is used at every step, so its gradient is a sum over the steps.
Unrolled, dL/dh_t holds products of W_hh' with diagonal matrices: after k steps they shrink or grow
like the k-th power of the spectral radius, which is why gradients vanish or explode.
Werbos 1990, "Backpropagation through time"; Pascanu, Mikolov and Bengio 2013.

Suffixes: T time, D inputs, H hidden, Q outputs. One sequence, so no batch.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class WeightGradients:
    """dL/dW of the three matrices, each of its matrix's shape."""

    W_hx: np.ndarray
    W_hh: np.ndarray
    W_qh: np.ndarray


def hidden_states(
    x_TD: np.ndarray, before_H: np.ndarray, W_hx: np.ndarray, W_hh: np.ndarray
) -> np.ndarray:
    """(T, H) h of every step. before_H: h before the first. W_hx: (H, D). W_hh: (H, H)."""
    h_TH, h_H = np.empty((len(x_TD), len(W_hh))), before_H
    for t, x_D in enumerate(x_TD):
        h_H = np.tanh(W_hx @ x_D + W_hh @ h_H)
        h_TH[t] = h_H
    return h_TH


def outputs(h_TH: np.ndarray, W_qh: np.ndarray) -> np.ndarray:
    """(T, Q) o of every step. W_qh: (Q, H)."""
    return h_TH @ W_qh.T


def cross_entropy_gradients(o_TQ: np.ndarray, targets_T: np.ndarray) -> np.ndarray:
    """(T, Q) dL/do where l_t is -ln softmax(o_t) at the target: the softmax, less 1 there."""
    exp_TQ = np.exp(o_TQ - o_TQ.max(axis=1, keepdims=True))
    gradients: np.ndarray = exp_TQ / exp_TQ.sum(axis=1, keepdims=True)
    gradients[np.arange(len(targets_T)), targets_T] -= 1
    return gradients


def hidden_gradients(
    output_gradients_TQ: np.ndarray, h_TH: np.ndarray, W_hh: np.ndarray, W_qh: np.ndarray
) -> np.ndarray:
    """(T, H) dL/dh of every step, by the recursion from the last step to the first."""
    gradients_TH = output_gradients_TQ @ W_qh
    for t in range(len(h_TH) - 2, -1, -1):
        gradients_TH[t] += W_hh.T @ through_tanh(gradients_TH[t + 1], h_TH[t + 1])
    return gradients_TH


def through_tanh(gradients: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The gradient before the tanh from the one after it, where h is the tanh's value."""
    return gradients * (1 - h**2)


def weight_gradients(
    x_TD: np.ndarray,
    before_H: np.ndarray,
    h_TH: np.ndarray,
    hidden_gradients_TH: np.ndarray,
    output_gradients_TQ: np.ndarray,
) -> WeightGradients:
    """The sums over all steps: what came out of the matrix, times what went into it.

    dL/dW_qh = sum dL/do_t h_t',  dL/dW_hx = sum a_t x_t',  dL/dW_hh = sum a_t h_{t-1}',
    with a_t = (1 - h_t^2) * dL/dh_t.
    """
    previous_TH = np.vstack([before_H, h_TH[:-1]])
    activations_TH = through_tanh(hidden_gradients_TH, h_TH)
    return WeightGradients(
        W_hx=activations_TH.T @ x_TD,
        W_hh=activations_TH.T @ previous_TH,
        W_qh=output_gradients_TQ.T @ h_TH,
    )

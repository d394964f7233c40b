"""A layer over a fixed window of tokens: the feed-forward language model (Bengio et al. 2003).

h(t) = tanh(b + sum over j < W of H_j x(t - j)): the vectors of the last W tokens side by side, one
matrix, tanh. Further layers see one position each (W = 1). What lies before the document is
zeros. The state is the last W - 1 vectors, so chunks join without a seam; as with a recurrent
layer, no gradient flows into them from the chunk after.

Suffixes: T time, B batch, I inputs, H hidden, W window.
"""

import torch
from torch import Tensor, nn

from textmill.neural.state import State, StatefulLayer


class FeedForward(StatefulLayer):
    """tanh of a linear map of the last `window` inputs; `state` is (W - 1, B, I), or none."""

    def __init__(self, inputs: int, hidden: int, window: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.window = window
        self.linear = nn.Linear(inputs * window, hidden)

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents."""
        if self.window == 1:
            return ()
        return (self.linear.weight.new_zeros(self.window - 1, n, self.inputs),)

    def forward(self, x_TBI: Tensor, state: State) -> tuple[Tensor, State]:
        """Outputs (T, B, H) and the state after."""
        if self.window == 1:
            return torch.tanh(self.linear(x_TBI)), ()
        seen_TBI = torch.cat([*state, x_TBI])
        # (T, B, I, W): row t holds the inputs t - W + 1 to t, the newest last.
        windows = seen_TBI.unfold(0, self.window, 1)
        return torch.tanh(self.linear(windows.flatten(2))), (seen_TBI[1 - self.window :],)

"""Additive attention of a recurrent layer over a window of its own past (Bahdanau et al. 2015).

With q = h(t) and the states h(t - W) to h(t - 1) before it:

    score_j = v . tanh(W h_j + U q + b),   a = softmax(score),   context = sum_j a_j h_j,
    output = tanh(C [q; context])

Causal by construction: position t looks at states before t alone. A state that does not exist (the
document has only begun) gets weight zero before the softmax, and with no state at all the context
is zero.

Suffixes: T time, B batch, H hidden, W window.
"""

import torch
from torch import Tensor, nn

from textmill.neural.state import State, StatefulLayer


def attend(
    scores_NW: Tensor, values_NHW: Tensor, exists_NW: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Weights (..., W) and contexts (..., H); slots that do not exist weigh nothing."""
    if exists_NW is None:
        exists_NW = torch.ones_like(scores_NW, dtype=torch.bool)
    # Not -inf, of which a row without any slot would make NaN; exp gives zero for it all the same.
    masked_NW = scores_NW.masked_fill(~exists_NW, torch.finfo(scores_NW.dtype).min)
    weights_NW = masked_NW.softmax(-1) * exists_NW
    return weights_NW, (values_NHW * weights_NW.unsqueeze(-2)).sum(-1)


class Attention(StatefulLayer):
    """Attention over the last `window` inputs; `state`: they (W, B, H), which exist (W, B, 1)."""

    def __init__(self, hidden: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden)

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents: nothing exists."""
        past_WBH = self.key.weight.new_zeros(self.window, n, self.key.in_features)
        return past_WBH, torch.zeros_like(past_WBH[..., :1], dtype=torch.bool)

    def forward(self, x_TBH: Tensor, state: State) -> tuple[Tensor, State]:
        """Outputs (T, B, H) and the state after."""
        past_WBH, exists_WB1 = state
        seen_TBH = torch.cat([past_WBH, x_TBH])
        exists_TB1 = torch.cat([exists_WB1, torch.ones_like(x_TBH[..., :1], dtype=torch.bool)])
        # Row t of a window tensor holds the W states before t; the last row belongs to the future.
        keys_TBHW = self.key(seen_TBH).unfold(0, self.window, 1)[:-1]
        values_TBHW = seen_TBH.unfold(0, self.window, 1)[:-1]
        exists_TBW = exists_TB1.unfold(0, self.window, 1)[:-1].squeeze(2)
        hidden_TBWH = torch.tanh(keys_TBHW + self.query(x_TBH).unsqueeze(-1)).transpose(2, 3)
        scores_TBW = self.score(hidden_TBWH).squeeze(-1)
        _, context_TBH = attend(scores_TBW, values_TBHW, exists_TBW)
        output_TBH = torch.tanh(self.combine(torch.cat([x_TBH, context_TBH], dim=-1)))
        return output_TBH, (seen_TBH[-self.window :], exists_TB1[-self.window :])

"""Adaptive softmax and adaptive inputs: frequent ids in full width, rare ones by narrower clusters.

ids fall in frequency, so cutoffs of ids are cuts by frequency. Cluster 0, below the first cutoff,
has the full width E, and each further cluster half the width of the one before: D = E // 2^i.

Softmax (Grave et al. 2017): p(id) = p(cluster i) p(id in i). One softmax chooses among the ids of
cluster 0 and the further clusters, another one within each of those. It is a model of its own,
whose probabilities sum to one, and no approximation of another one.

Inputs (Baevski and Auli 2019): a table for each cluster, and for each but the first a projection
that leads to E. Tied, the matrices over the ids of the softmax are those tables: 33,278 ids with
E = 300 and cuts at 2,000 and 10,000 have 3.5 M weights, of input and output together, where a plain
embedding and a softmax of its own have 13.5 M. Projections are not shared. Nothing of it runs in
bfloat16.

Suffixes: N positions, V vocabulary, E full width, D a cluster's width, K clusters but the first.
"""

import itertools
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.base.errors import UserError
from textmill.neural.chunk import PADDING
from textmill.neural.config import CLUSTER_DIVISOR
from textmill.neural.heads import only_begin
from textmill.tokenizers.vocabulary import BEGIN

EMBEDDING_SPREAD = 0.05
"""Standard deviation of input vectors before training, in every kind of embedding."""


LOGITS_AT_ONCE = 1 << 23
"""32 MB in float32."""


class AdaptiveEmbedding(nn.Module):
    """ids to vectors of width E, of the same spread in every cluster before training."""

    def __init__(self, size: int, width: int, cutoffs: tuple[int, ...]) -> None:
        super().__init__()
        check_cutoffs(cutoffs, size)
        self.width = width
        self.ranges = tuple(itertools.pairwise((0, *cutoffs, size)))
        widths = [width // CLUSTER_DIVISOR**i for i in range(len(self.ranges))]
        self.tables = nn.ParameterList(
            nn.init.normal_(torch.empty(stop - start, narrow), std=EMBEDDING_SPREAD)
            for (start, stop), narrow in zip(self.ranges, widths, strict=True)
        )
        self.projections = nn.ModuleList(nn.Linear(n, width, bias=False) for n in widths[1:])
        for projection, narrow in zip(self.projections, widths[1:], strict=True):
            nn.init.normal_(cast(nn.Linear, projection).weight, std=narrow**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """(..., E) vectors of ids (...)."""
        ids_N = ids.flatten()
        x_NE = self.tables[0].new_zeros(len(ids_N), self.width)
        with torch.autocast(ids.device.type, enabled=False):
            for i, (start, stop) in enumerate(self.ranges):
                places = ((ids_N >= start) & (ids_N < stop)).nonzero().squeeze(1)
                if len(places):
                    x_NE = x_NE.index_copy(0, places, self._vectors(i, ids_N[places] - start))
        return x_NE.view(*ids.shape, self.width)

    def _vectors(self, cluster: int, rows_N: Tensor) -> Tensor:
        found_ND = functional.embedding(rows_N, self.tables[cluster])
        return self.projections[cluster - 1](found_ND) if cluster else found_ND


class AdaptiveHead(nn.Module):
    """The adaptive softmax; with `tied` over the tables of the embedding."""

    def __init__(
        self, width: int, size: int, cutoffs: tuple[int, ...], tied: AdaptiveEmbedding | None
    ) -> None:
        super().__init__()
        check_cutoffs(cutoffs, size)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            width, size, cutoffs, div_value=float(CLUSTER_DIVISOR)
        )
        if tied is None:
            self.softmax.head = _WithoutBegin(width, self.softmax.head.out_features)
        else:
            self._tie(tied)

    def _tie(self, embedding: AdaptiveEmbedding) -> None:
        self.softmax.head = cast(nn.Linear, _TiedShortlist(embedding))
        for i, tail in enumerate(self.softmax.tail, start=1):
            cast(nn.Sequential, tail)[1] = _TiedTable(embedding, i)

    def log_probs(self, x_NE: Tensor) -> Tensor:
        """(N, V) natural logarithms; -inf for `<s>`."""
        with torch.autocast(x_NE.device.type, enabled=False):
            return self.softmax.log_prob(x_NE.to(self._dtype))

    def nats(self, x_NE: Tensor, ids_N: Tensor) -> Tensor:
        """(N,) -ln p of the ids."""
        if not len(ids_N):
            return x_NE.sum(1).to(self._dtype)  # nothing, over which a gradient may flow
        with torch.autocast(x_NE.device.type, enabled=False):
            return -self.softmax(x_NE.to(self._dtype), ids_N).output

    def total_nats(self, x_NE: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding."""
        real_N = targets_N != PADDING
        return self.nats(x_NE[real_N], targets_N[real_N]).sum()

    @property
    def positions_at_once(self) -> int:
        """How many positions to ask `nats` for in one call, if all their logits were made."""
        return max(1, LOGITS_AT_ONCE // self.softmax.n_classes)

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype


class _WithoutBegin(nn.Linear):
    """Logits of the frequent ids and of the clusters; -inf for `<s>`."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__(width, size, bias=False)
        self.never_predicted: Tensor
        self.register_buffer("never_predicted", only_begin(size), persistent=False)

    def forward(self, x_NE: Tensor) -> Tensor:
        return super().forward(x_NE) + self.never_predicted


class _TiedTable(nn.Module):
    """Logits of a cluster's ids by their input vectors."""

    def __init__(self, embedding: AdaptiveEmbedding, cluster: int) -> None:
        super().__init__()
        # In a tuple, so that the shared table is neither counted nor saved twice.
        self.tied = (embedding,)
        self.cluster = cluster

    def forward(self, x_ND: Tensor) -> Tensor:
        return functional.linear(x_ND, self.tied[0].tables[self.cluster])


class _TiedShortlist(nn.Module):
    """What `_WithoutBegin` gives, the frequent ids by their input vectors."""

    def __init__(self, embedding: AdaptiveEmbedding) -> None:
        super().__init__()
        self.tied = (embedding,)
        clusters_KE = torch.empty(len(embedding.projections), embedding.width)
        self.clusters = nn.Parameter(nn.init.normal_(clusters_KE, std=EMBEDDING_SPREAD))
        self.never_predicted: Tensor
        size = len(embedding.tables[0]) + len(clusters_KE)
        self.register_buffer("never_predicted", only_begin(size), persistent=False)

    def forward(self, x_NE: Tensor) -> Tensor:
        W_VE = torch.cat([self.tied[0].tables[0], self.clusters])
        return functional.linear(x_NE, W_VE, self.never_predicted)


def check_cutoffs(cutoffs: tuple[int, ...], size: int) -> None:
    """UserError for cutoffs that do not fit a vocabulary of `size` ids."""
    if cutoffs[-1] >= size:
        raise UserError(
            f"cutoffs end with {cutoffs[-1]:,}, but the vocabulary has {size:,} ids",
            next_step="give cutoffs below the size of the vocabulary in params.yaml",
        )
    if cutoffs[0] <= BEGIN:
        raise UserError(
            f"cutoffs begin with {cutoffs[0]}: the reserved ids belong to the frequent ones",
            next_step="give higher cutoffs in params.yaml",
        )

"""How far a run has come, counted in steps or tokens, and when it looks at the validation split."""

from textmill.neural.batches import Chunks
from textmill.neural.config import NetworkConfig


class Budget:
    """Answers by step; `config` says what is counted."""

    def __init__(self, config: NetworkConfig, chunks: Chunks) -> None:
        self._chunks = chunks
        self._in_tokens = config.in_tokens
        self.total = config.budget
        self._evaluate_every = config.evaluate_every
        if config.patience:
            # A small text is read many times between two looks that are meant for a large one, and
            # patience would stop the run long after it began to memorise. The warm-up is awaited.
            epoch = max(self.done(chunks.chunks), config.warmup)
            self._evaluate_every = min(config.evaluate_every, epoch)

    def done(self, step: int) -> int:
        """Steps or tokens before `step`."""
        return self._chunks.tokens_until(step) if self._in_tokens else step

    def is_spent(self, step: int) -> bool:
        """Whether there is nothing left to do."""
        return self.done(step) >= self.total

    def is_time_to_look(self, step: int) -> bool:
        """Every `evaluate_every` and at the end; with `patience` at least once an epoch."""
        done, before = self.done(step), self.done(max(step - 1, 0))
        every = self._evaluate_every
        return done // every > before // every or done >= self.total

    def tokens(self) -> int:
        """Tokens of the whole run."""
        return self.total if self._in_tokens else self._chunks.tokens_until(self.total)

    def describe(self, step: int) -> str:
        """`all 1,600 steps done`, or how far it came."""
        unit = "token" if self._in_tokens else "step"
        if self.is_spent(step):
            return f"all {self.total:,} {unit}s done"
        return f"ended early, at {unit} {self.done(step):,} of {self.total:,}"

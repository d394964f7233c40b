"""Training: truncated BPTT, early stop on validation, safe to kill at any moment.

The loss is the mean over a chunk's targets; the state is carried from chunk to chunk and detached.
At every look the whole validation split is scored exactly as evaluation will score it, in
float32, and the best weights are kept. A checkpoint now and then makes the run safe to kill: with
the same machine and threads it ends in the same bits as an undisturbed one (on CPU; some CUDA
kernels add in an order of their own, unless `deterministic` is set).

Costs, 2 x 384 over 4,000 subwords on two Zen 5 cores: 10,000 tokens/s in float32, 20,000 in
bfloat16; half of it goes into the output layer.
"""

import logging
import math
import time
from dataclasses import asdict
from pathlib import Path

import torch

from textmill.base.errors import UserError
from textmill.base.files import write_atomically
from textmill.neural.batches import make_chunks
from textmill.neural.budget import Budget
from textmill.neural.checkpoint import load_checkpoint, save_checkpoint
from textmill.neural.config import NetworkConfig
from textmill.neural.device import prepare, usable_precision
from textmill.neural.dropout import step_generator
from textmill.neural.history import Look, Looks, Tally, as_csv
from textmill.neural.initial import begin_from
from textmill.neural.model import NetworkModel
from textmill.neural.model_files import save_model
from textmill.neural.network import Network, count_parameters
from textmill.neural.objective import Objective
from textmill.neural.optimiser import buffers, make_optimiser, restore_buffers, update
from textmill.neural.processes import join
from textmill.neural.schedule import learning_rate
from textmill.neural.state import State, moved_on, pieces
from textmill.scoring.likelihood import token_nats
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

SKIPPED = 5
"""A gradient that is no finite number may happen; so many of them in a row are a training lost."""


class Training:
    """A run's whole state between two steps.

    seconds_before: that it took until the checkpoint from which it went on.
    """

    def __init__(
        self,
        lines_train: Lines,
        lines_valid: Lines,
        vocabulary: Vocabulary,
        config: NetworkConfig,
        scratch: Path,
    ) -> None:
        self.config = config
        self.vocabulary = vocabulary
        self.lines_valid = lines_valid
        self.scratch = scratch
        self.device = prepare(config.device, config.threads, deterministic=config.deterministic)
        self.processes = join(config.processes, self.device)
        self.precision = usable_precision(config.precision, self.device)
        self.chunks = make_chunks(lines_train, vocabulary, config)
        self.budget = Budget(config, self.chunks)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = Network(len(vocabulary), config).to(self.device)
        begin_from(self.network, config, vocabulary)
        self.objective = self.processes.wrap(
            Objective(self.network, config), some_unused=config.head == "adaptive"
        )
        self.optimiser = make_optimiser(self.network, config)
        self.generator = torch.Generator(self.device)
        self.columns = self.processes.columns(config.batch)
        self.state: State = self.network.zero_state(config.batch // config.processes)
        self.step = 0
        self.rate = 0.0
        self.tally = Tally()
        self.history = Looks()
        self.seconds_before = 0.0
        self._begun = time.monotonic()

    @property
    def is_time_to_look(self) -> bool:
        """Whether a look at the validation split is due after the last step."""
        return self.budget.is_time_to_look(self.step)

    @property
    def finished(self) -> bool:
        """The budget is spent, or `patience` looks have brought no new best."""
        out_of_patience = 0 < self.config.patience <= self.history.since_best()
        return self.budget.is_spent(self.step) or out_of_patience

    def take_step(self) -> tuple[float, int]:
        """One chunk, one update. Returns its mean loss and how many targets it had."""
        config = self.config
        chunk = self.chunks.chunk(self.step)
        mine = chunk.columns(self.columns)
        self._begin_step(len(chunk.inputs))
        parts = list(pieces(mine.starts, chunk.crossings, 1 / (config.continuation or 1.0)))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            objective, nats, state = self.objective(
                mine.inputs.to(self.device),
                mine.targets.to(self.device),
                self.state,
                parts,
                self.generator,
                chunk.n_targets / self.processes.number,
            )
        norm = update(self.network, self.optimiser, objective, rate=self.rate, clip=config.clip)
        loss = (self.processes.total(nats) / chunk.n_targets).item()
        self._check_finite(loss, norm)
        self.state = state
        self.tally.add(loss, chunk.n_targets, norm, config.clip)
        self.step += 1
        return loss, chunk.n_targets

    def _begin_step(self, rows: int) -> None:
        config, processes = self.config, self.processes
        self.objective.train()
        if self.chunks.begins_epoch(self.step):
            moved = moved_on(processes.all_columns(self.state))
            self.state = tuple(part[:, self.columns] for part in moved)
        # Every process draws masks of its own; the first as it would alone.
        others = [processes.rank] if processes.rank else []
        step_generator(self.generator, config.seed, self.step, *others)
        self.rate = learning_rate(self.budget.done(self.step), config, self.history.valid_losses)
        if config.truncation in ("variable", "random"):
            self.rate *= rows / config.bptt

    def _check_finite(self, loss: float, norm: float) -> None:
        if not math.isfinite(loss):
            raise UserError(
                f"the loss is {loss} and the gradient norm {norm} (learning rate {self.rate:.3g})",
                where=f"training, step {self.step + 1}",
                next_step="lower learning_rate or clip in params.yaml, then: dvc repro",
            )

    def look(self) -> None:
        """Score the validation split, extend the history, keep the weights if they are best.

        UserError where every step since the last look, and `SKIPPED` at least, had to be left out.
        """
        skipped = self.tally.skipped_in_a_row
        if skipped >= max(self.tally.steps, SKIPPED):
            raise UserError(
                f"no step of the last {skipped:,} had a finite gradient",
                where=f"training, step {self.step}",
                next_step="lower learning_rate in params.yaml, then: dvc repro",
            )
        look = Look(
            step=self.step,
            tokens=self.chunks.tokens_until(self.step),
            train_loss=self.tally.nats / self.tally.targets,
            valid_loss=self._valid_loss(),
            learning_rate=self.rate,
            gradient_norm=self.tally.gradient_norm,
            clipped=self.tally.clipped,
            skipped=self.tally.skipped,
        )
        self.tally = self.tally.next()
        self.history.add(look, self.network)
        self.write_history()

    def _valid_loss(self) -> float:
        loss = math.nan
        if self.processes.is_first:
            nats = token_nats(NetworkModel(self.network, self.vocabulary), self.lines_valid)
            loss = float(nats.sum()) / len(self.lines_valid.tokens)
        return self.processes.from_first(loss)

    def write_history(self) -> None:
        """Write the looks so far where a follower finds them."""
        if self.processes.is_first:
            write_atomically(self.scratch / "history.csv", as_csv(self.history.looks))

    def ending(self) -> str:
        """Why training ended, and whose weights are kept."""
        why = f"training: {self.budget.describe(self.step)}"
        if not self.budget.is_spent(self.step):
            why = (
                f"training {self.budget.describe(self.step)}: "
                f"{self.config.patience} looks at the validation text without a new best"
            )
        best = self.history.best
        return why + (f"; the weights of step {best.step:,} are kept" if best else "")

    @property
    def _key(self) -> dict[str, object]:
        return {**self.config.as_json(), "vocabulary": self.vocabulary.fingerprint}

    def save(self) -> None:
        """Write the checkpoint; the columns of all processes go into one."""
        state = self.processes.all_columns(self.state)
        if not self.processes.is_first:
            return
        best = self.history.best
        facts = {
            "key": self._key,
            "step": self.step,
            "tally": asdict(self.tally),
            "looks": [asdict(look) for look in self.history.looks],
            "best": self.history.looks.index(best) if best else None,
            "seconds": self.seconds_before + time.monotonic() - self._begun,
        }
        groups = {
            "weights": self.network.state_dict(),
            "buffers": buffers(self.optimiser),
            "state": {str(number): part for number, part in enumerate(state)},
            "best": self.history.best_weights,
        }
        save_checkpoint(self.scratch, groups, facts)

    def resume(self) -> None:
        """Go on from the checkpoint in `scratch`, if there is one."""
        found = load_checkpoint(self.scratch, key=self._key)
        if found is None:
            return
        groups, facts = found
        self.network.load_state_dict(groups["weights"])
        restore_buffers(self.optimiser, groups.get("buffers", {}))
        state = groups.get("state", {})
        self.state = tuple(
            state[str(number)][:, self.columns].to(self.device) for number in range(len(state))
        )
        self.step = facts["step"]
        _log.info("training goes on from the checkpoint of step %d", self.step)
        self.tally = Tally(**facts["tally"])
        self.seconds_before = facts["seconds"]
        looks = [Look(**look) for look in facts["looks"]]
        best = None if facts["best"] is None else looks[facts["best"]]
        self.history = Looks(looks, best, groups.get("best", {}))

    def write_model(self, folder: Path) -> None:
        """Write the best network. UserError where no look gave a number."""
        best = self.history.best
        if best is None:
            raise UserError(
                "the validation loss never was a number", next_step="lower learning_rate"
            )
        facts = {
            "config": self.config.as_json(),
            "vocabulary": self.vocabulary.fingerprint,
            "parameters": count_parameters(self.network),
            "best_step": best.step,
            "valid_loss": best.valid_loss,
        }
        save_model(folder, facts, self.history.best_weights, as_csv(self.history.looks))

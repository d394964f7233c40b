"""Training: truncated BPTT with AdamW, early stop on validation, safe to kill at any moment.

The loss is the mean over a chunk's targets; h and c are carried from chunk to chunk and detached.
At every look the whole validation split is scored exactly as evaluation will score it, in
float32, and the best weights are kept. A checkpoint now and then makes the run safe to kill: with
the same machine and threads it ends in the same bits as an undisturbed one (on CPU; some CUDA
kernels add in an order of their own).

Costs, 2 x 384 over 4,000 subwords on two Zen 5 cores: 10,000 tokens/s in float32, 20,000 in
bfloat16; half of it goes into the output layer.
"""

import logging
import math
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.base.errors import UserError
from textmill.base.files import write_atomically
from textmill.base.progress import Progress
from textmill.neural.checkpoint import load_checkpoint, save_checkpoint
from textmill.neural.columns import PADDING, Columns
from textmill.neural.config import NetworkConfig
from textmill.neural.device import prepare, usable_precision, within_memory
from textmill.neural.dropout import step_generator
from textmill.neural.history import Look, Tally, as_csv
from textmill.neural.lstm import LstmNetwork, State, count_parameters
from textmill.neural.model import NetworkModel
from textmill.neural.model_files import save_model
from textmill.neural.optimiser import make_optimiser, moments, restore_moments
from textmill.neural.schedule import learning_rate
from textmill.scoring.likelihood import token_nats
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

_log = logging.getLogger(__name__)


def train(
    lines_train: Lines,
    lines_valid: Lines,
    vocabulary: Vocabulary,
    config: NetworkConfig,
    *,
    folder: Path,
    scratch: Path,
    checkpoint_every: int = 200,
) -> None:
    """Train and write the best network to `folder`, which arrives whole.

    scratch: keeps the checkpoint and the growing history; a run that finds one goes on from it.
    Raises UserError for a non-finite loss (naming the step), an empty split, a foreign checkpoint,
    a network that does not fit into memory.
    """
    if not len(lines_valid.tokens):
        raise UserError("the validation split holds no tokens", next_step="dvc repro")
    with within_memory():
        run = Training(lines_train, lines_valid, vocabulary, config, scratch)
        run.resume()
        run.write_history()  # whoever follows it learns that training has begun
        _run(run, checkpoint_every)
    _log.info("%s", run.ending())
    run.write_model(folder)


def _run(run: "Training", checkpoint_every: int) -> None:
    config = run.config
    total = run.columns.tokens_until(config.steps)
    with Progress(total, "tokens", "training") as progress:
        progress.resume(run.columns.tokens_until(run.step))
        while not run.finished:
            loss, targets = run.take_step()
            facts = {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}
            if run.looks:
                facts["valid_loss"] = run.looks[-1].valid_loss
            progress.advance(targets, **facts)
            if run.is_time_to_look:
                run.look()
            if run.step % checkpoint_every == 0 or run.finished:
                run.save()


class Training:
    """A run's whole state between two steps."""

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
        self.device = prepare(config.device, config.threads)
        self.precision = usable_precision(config.precision, self.device)
        self.columns = Columns(
            lines_train, vocabulary, batch=config.batch, bptt=config.bptt, seed=config.seed
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = LstmNetwork(len(vocabulary), config).to(self.device)
        self.optimiser = make_optimiser(self.network, config)
        self.generator = torch.Generator(self.device)
        self.state: State = self.network.zero_state(config.batch)
        self.step = 0
        self.tally = Tally()
        self.looks: list[Look] = []
        self.best: Look | None = None
        self.best_weights: dict[str, Tensor] = {}

    @property
    def is_time_to_look(self) -> bool:
        """Every `evaluate_every` steps, and at the end; with `patience` at least once an epoch.

        A small text is read many times between two looks that are meant for a large one, and
        patience would stop the run long after it began to memorise. (The warm-up is waited for.)
        """
        config = self.config
        every = config.evaluate_every
        if config.patience:
            every = min(every, max(self.columns.chunks, config.warmup))
        return self.step % every == 0 or self.step == config.steps

    @property
    def finished(self) -> bool:
        """The budget is spent, or `patience` looks have brought no new best."""
        return self.step >= self.config.steps or self._out_of_patience()

    def _out_of_patience(self) -> bool:
        if not self.config.patience or not self.looks:
            return False
        since = self.looks.index(self.best) + 1 if self.best else 0
        return len(self.looks) - since >= self.config.patience

    def take_step(self) -> tuple[float, int]:
        """One chunk, one update. Returns its mean loss and how many targets it had."""
        chunk = self.columns.chunk(self.step)
        rate = self._begin_step()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            output_TBH, state = self.network(
                chunk.inputs.to(self.device), self.state, chunk.starts, self.generator
            )
            logits_TBV = self.network.logits(output_TBH)
        loss = functional.cross_entropy(
            logits_TBV.float().flatten(0, 1),
            chunk.targets.to(self.device).flatten(),
            ignore_index=PADDING,
        )
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self._check_finite(loss.item(), norm.item(), rate)
        self.optimiser.step()
        self.state = (state[0].detach(), state[1].detach())
        self.tally.add(loss.item(), chunk.n_targets, norm.item())
        self.step += 1
        return loss.item(), chunk.n_targets

    def _begin_step(self) -> float:
        config = self.config
        self.network.train()
        if self.columns.begins_epoch(self.step):
            self.state = (self.state[0].roll(1, dims=1), self.state[1].roll(1, dims=1))
        step_generator(self.generator, config.seed, self.step)
        rate = learning_rate(
            self.step, peak=config.learning_rate, warmup=config.warmup, steps=config.steps
        )
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        return rate

    def _check_finite(self, loss: float, norm: float, rate: float) -> None:
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise UserError(
                f"the loss is {loss} and the gradient norm {norm} (learning rate {rate:.3g})",
                where=f"training, step {self.step + 1}",
                next_step="lower learning_rate or clip in params.yaml, then: dvc repro",
            )

    def look(self) -> None:
        """Score the validation split, extend the history, keep the weights if they are best."""
        model = NetworkModel(self.network, self.vocabulary)
        valid = float(token_nats(model, self.lines_valid).sum()) / len(self.lines_valid.tokens)
        look = Look(
            step=self.step,
            tokens=self.columns.tokens_until(self.step),
            train_loss=self.tally.nats / self.tally.targets,
            valid_loss=valid,
            learning_rate=self.optimiser.param_groups[0]["lr"],
            gradient_norm=self.tally.norms / self.tally.steps,
        )
        self.tally = Tally()
        self.looks.append(look)
        # NaN is less than nothing, so it is never best.
        if valid < (self.best.valid_loss if self.best else math.inf):
            self.best = look
            weights = self.network.state_dict()
            self.best_weights = {name: t.detach().cpu().clone() for name, t in weights.items()}
        self.write_history()

    def write_history(self) -> None:
        """Write the looks so far where a follower finds them."""
        write_atomically(self.scratch / "history.csv", as_csv(self.looks))

    def ending(self) -> str:
        """Why training ended, and whose weights are kept."""
        config = self.config
        why = f"training: all {config.steps:,} steps done"
        if self.step < config.steps:
            why = (
                f"training ended early, at step {self.step:,} of {config.steps:,}: "
                f"{config.patience} looks at the validation text without a new best"
            )
        kept = f"; the weights of step {self.best.step:,} are kept" if self.best else ""
        return why + kept

    @property
    def _key(self) -> dict[str, object]:
        return {**self.config.as_json(), "vocabulary": self.vocabulary.fingerprint}

    def save(self) -> None:
        """Write the checkpoint."""
        facts = {
            "key": self._key,
            "step": self.step,
            "tally": asdict(self.tally),
            "looks": [asdict(look) for look in self.looks],
            "best": self.looks.index(self.best) if self.best else None,
        }
        groups = {
            "weights": self.network.state_dict(),
            "moments": moments(self.optimiser),
            "state": {"h": self.state[0], "c": self.state[1]},
            "best": self.best_weights,
        }
        save_checkpoint(self.scratch, groups, facts)

    def resume(self) -> None:
        """Go on from the checkpoint in `scratch`, if there is one."""
        found = load_checkpoint(self.scratch, key=self._key)
        if found is None:
            return
        groups, facts = found
        self.network.load_state_dict(groups["weights"])
        restore_moments(self.optimiser, groups["moments"])
        state = groups["state"]
        self.state = (state["h"].to(self.device), state["c"].to(self.device))
        self.best_weights = groups.get("best", {})
        self.step = facts["step"]
        _log.info("training goes on from the checkpoint of step %d", self.step)
        self.tally = Tally(**facts["tally"])
        self.looks = [Look(**look) for look in facts["looks"]]
        self.best = None if facts["best"] is None else self.looks[facts["best"]]

    def write_model(self, folder: Path) -> None:
        """Write the best network. UserError where no look gave a number."""
        if self.best is None:
            raise UserError(
                "the validation loss never was a number", next_step="lower learning_rate"
            )
        facts = {
            "config": self.config.as_json(),
            "vocabulary": self.vocabulary.fingerprint,
            "parameters": count_parameters(self.network),
            "best_step": self.best.step,
            "valid_loss": self.best.valid_loss,
        }
        save_model(folder, facts, self.best_weights, as_csv(self.looks))

"""Where everything lies in the repository; paths are relative to its root."""

from pathlib import Path

from textmill.base.errors import UserError

PARAMS = Path("params.yaml")
GRAPH = Path("dvc.yaml")
DOWNLOADS = Path("downloads")
RAW = Path("data/raw")
CLEAN = Path("data/clean")
CLEAN_SUMMARY = CLEAN / "summary.json"
CLEAN_METRICS = Path("metrics/clean.json")
MODEL_METRICS = Path("metrics/models")
REPORTS = Path("reports")
LEADERBOARD = REPORTS / "leaderboard.json"
WATERFALL_PLOT = REPORTS / "waterfall.csv"
WATERFALL_PAGE = REPORTS / "waterfall.html"
TOKENIZERS_PAGE = REPORTS / "tokenizers.html"
PRIVATE = Path(".textmill")
FACTS = PRIVATE / "facts"
FLOW_LOCK = PRIVATE / "flow.lock"
SCRATCH = PRIVATE / "scratch"


def find_root() -> Path:
    """The repository that the working folder lies in; the empty path where it is its root."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / PARAMS).is_file() and (folder / GRAPH).is_file():
            return Path() if folder == here else folder
    raise UserError(
        f"neither {here} nor a folder above it holds {PARAMS} and {GRAPH}",
        next_step="go to a clone of textmill, then type the command again",
    )


def clean_split(split: str) -> Path:
    """Documents of a cleaned split."""
    return CLEAN / f"{split}.arrow"


def vocabulary(tokenizer: str) -> Path:
    """Folder of a tokenizer, its vocabulary and its spelling model."""
    return Path("data/vocabulary") / tokenizer


def vocabulary_report(tokenizer: str) -> Path:
    """Folder of a vocabulary's numbers and of the tables behind its plots."""
    return REPORTS / "vocabulary" / tokenizer


def shards(tokenizer: str) -> Path:
    """Folder of a tokenizer's shards."""
    return Path("data/shards") / tokenizer


def model(name: str) -> Path:
    """Folder of a model."""
    return Path("models") / name


def history(name: str) -> Path:
    """Learning history of a network."""
    return Path("history") / f"{name}.csv"


def scores(name: str) -> Path:
    """Folder of a model's scores, a file a split."""
    return Path("scores") / name


def summary(name: str) -> Path:
    """Everything about a model's scores: what it is, its keys, every number of both splits."""
    return scores(name) / "summary.json"


def model_metrics(name: str) -> Path:
    """The few numbers of a model that `dvc metrics show` lays side by side."""
    return MODEL_METRICS / f"{name}.json"


def bytes_of(folder: Path) -> int:
    """Size of a folder's files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

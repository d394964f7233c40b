"""What the stage `clean` costs: many tiny documents, and memory as the corpus grows.

The checkout's files are copied to a throw-away repository, texts of one's own are pinned there, and
the steps `download` and `clean` run. Seconds and peak memory are the step's own account. The same
lines come as one document a line and as one file; files of one megabyte come once and four times
over. In = out + dropped is asserted by the step itself; here the bytes are added up once more.
`--quick` takes few lines and leaves out the files.

    python -m benchmarks.cleaning [--quick] [--json FILE]
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from ruamel.yaml import YAML

from benchmarks.pipeline import copy_of_checkout, timed
from benchmarks.report import Row, exact, main, timing
from benchmarks.texts import some_text


def measure(quick: bool) -> list[Row]:
    lines = numbered(20_000 if quick else 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        checkout = copy_of_checkout(Path(folder) / "textmill")
        text = Path(folder) / "lines.txt"
        text.write_text("\n".join(lines) + "\n", newline="\n")
        many, whole = (cleaned(checkout, text, kind) for kind in ("line", "file"))
        growing = [] if quick else growth(checkout, Path(folder), lines)
    size = sum(len(line.encode()) + 1 for line in lines)
    return [
        timing(f"{len(lines):,} documents of a line", many["seconds"], "s", quick=quick),
        timing("  peak memory", many["megabytes"], "MB", quick=quick),
        timing("the same as one file", whole["seconds"], "s", quick=quick),
        timing("  peak memory", whole["megabytes"], "MB", quick=quick),
        *growing,
        exact("bytes that the splits lack", size - many["bytes"], 0),
        exact("bytes that differ, by lines and as a file", abs(many["bytes"] - whole["bytes"]), 0),
    ]


def growth(checkout: Path, folder: Path, lines: list[str]) -> list[Row]:
    """Memory and time for files of one megabyte, and for four times as many."""
    few, more = (
        cleaned(checkout, files_of_a_megabyte(folder, lines, n), "file") for n in (75, 300)
    )
    return [
        timing("files of 1 MB, a quarter of them", few["megabytes"], "MB", quick=False),
        timing("  all of them", more["megabytes"], "MB", quick=False),
        timing("  time for it", more["seconds"] / few["seconds"], "x", quick=False, at_most=4.4),
    ]


def numbered(n_lines: int) -> list[str]:
    """Lines of text, all of them different."""
    lines = some_text(min(n_lines, 100_000) * 15)
    return [f"{number} {lines[number % len(lines)]}" for number in range(n_lines)]


def files_of_a_megabyte(folder: Path, lines: list[str], n_files: int) -> Path:
    """A folder of so many files, each with other numbers before its lines."""
    made = folder / f"files{n_files}"
    made.mkdir()
    for number in range(n_files):
        text, size = [], 0
        for place, line in enumerate(lines):
            text.append(f"{number} {place} {line}")
            size += len(text[-1]) + 1
            if size > 1_000_000:
                break
        (made / f"{number:03d}.txt").write_text("\n".join(text) + "\n", newline="\n")
    return made


def cleaned(checkout: Path, text: Path, documents: str) -> dict[str, float]:
    """Seconds and megabytes of the step `clean`, and the bytes that it kept."""
    yaml = YAML()
    params = checkout / "params.yaml"
    content = yaml.load(params.read_text())
    content["corpora"]["local"]["documents"] = documents
    with params.open("w") as file:
        yaml.dump(content, file)
    timed(checkout, "textmill", "pin", str(text))
    for name in ("data", ".textmill"):
        shutil.rmtree(checkout / name, ignore_errors=True)
    for step in ("download", "clean"):
        timed(checkout, sys.executable, "-m", f"pipeline_steps.{step}")
    facts = [json.loads(path.read_text()) for path in (checkout / ".textmill/facts").glob("*.json")]
    (cost,) = [one for one in facts if one["stage"] == "clean"]
    summary = json.loads((checkout / "data/clean/summary.json").read_text())
    return {
        "seconds": cost["seconds"],
        "megabytes": cost["peak_memory_bytes"] / 1e6,
        "bytes": sum(summary["bytes"].values()),
    }


if __name__ == "__main__":
    main(__doc__, measure)

"""Stage describe: one page of what every declared tokenizer makes of the text.

Reports of tokenizers that are no longer declared are deleted first: they lie in the folder that
this stage depends on, and a clone that never had them would otherwise see other inputs.
"""

import csv
import logging
import shutil

from pipeline_steps import settings
from textmill.base.files import read_record, write_atomically
from textmill.reports.tokens.tables import TABLES, Report
from textmill.reports.tokens.tokens import tokens_html
from textmill.repository import layout

_log = logging.getLogger(__name__)


def main() -> None:
    """Write `reports/tokenizers.html`."""
    names = list(settings.load("describe")["tokenizers"])
    for folder in sorted(layout.vocabulary_report("any").parent.iterdir()):
        if folder.name not in names and folder.is_dir():
            _log.info("describe: deleting %s, its tokenizer is no longer declared", folder)
            shutil.rmtree(folder)
    source = read_record(layout.RAW / "source.json", "title")
    reports = [read(name) for name in names]
    write_atomically(layout.TOKENIZERS_PAGE, tokens_html(source["title"], reports))


def read(name: str) -> Report:
    """The numbers of a tokenizer and the tables of its plots."""
    folder = layout.vocabulary_report(name)
    summary = read_record(folder / "summary.json", "size", "zipf", "train", "valid", "test")
    tables = {}
    for table in TABLES:
        with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            tables[table] = list(csv.DictReader(file))
    return Report(name, summary, tables)


if __name__ == "__main__":
    settings.run(main)

"""Stage clean: decode, clean and split the text; count what every rule dropped."""

from collections.abc import Mapping
from typing import Any

from pipeline_steps import settings
from textmill.base.errors import UserError, shown
from textmill.base.files import replacing_folder, write_atomically, write_json
from textmill.reports.cleaning.waterfall import waterfall_csv, waterfall_html
from textmill.repository import layout
from textmill.text.catalogue import Corpus
from textmill.text.cleaned import clean_corpus
from textmill.text.profiles import Profiles
from textmill.text.raw import files_of
from textmill.text.steps import Step


def main() -> None:
    """Write `data/clean/{train,valid,test}.arrow`, its summary, metrics, and the waterfall."""
    chosen = settings.load("clean")
    name = chosen["corpus"]
    where = f"{layout.PARAMS}: corpora.{name}"
    corpus = settings.parse(Corpus, chosen["corpora"][name], where)
    profiles = parse_profiles(chosen["profiles"])
    check_cleaning(corpus, profiles, where)
    with replacing_folder(layout.CLEAN) as folder:
        summary = clean_corpus(files_of(layout.RAW), corpus, name, profiles, folder)
        write_json(folder / layout.CLEAN_SUMMARY.name, summary)
    # `dvc metrics show` lays every metric beside the models', so only the telling ones go there.
    metrics = {name: summary[name] for name in ("documents", "bytes")}
    overlap = {name: summary["overlap"][name] for name in ("ngrams", "lines")}
    write_json(layout.CLEAN_METRICS, metrics | {"overlap": overlap})
    write_atomically(layout.WATERFALL_PLOT, waterfall_csv(summary["waterfall"]))
    write_atomically(layout.WATERFALL_PAGE, waterfall_html(name, corpus.title, summary))


def parse_profiles(entries: Any) -> Profiles:
    """The profiles of params.yaml. Raises UserError for the first wrong one."""
    where = f"{layout.PARAMS}: profiles"
    if not isinstance(entries, Mapping):
        raise UserError(
            f"it must map names to lists of rules, not be {shown(entries)}",
            where=where,
            next_step="for none of them write: profiles: {}",
        )
    try:
        return Profiles(entries)
    except UserError as error:
        raise _placed(error, where) from None


def check_cleaning(corpus: Corpus, profiles: Profiles, where: str) -> list[Step]:
    """The steps of the corpus's `cleaning`. Raises UserError where it is none that can run."""
    try:
        return profiles.steps(corpus.cleaning, corpus.normal_form)
    except UserError as error:
        raise _placed(error, where) from None


def _placed(error: UserError, where: str) -> UserError:
    return UserError(error.what, where=where, next_step=error.next_step or settings.CORRECT)


if __name__ == "__main__":
    settings.run(main)

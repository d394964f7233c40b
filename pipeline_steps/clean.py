"""Stage clean: decode, clean and split the text; count what every rule dropped."""

from pipeline_steps import settings
from textmill.base.files import replacing_folder, write_atomically, write_json, write_table
from textmill.reports.cleaning.waterfall import waterfall_csv, waterfall_html
from textmill.repository import layout
from textmill.text.catalogue import SPLITS, Corpus
from textmill.text.cleaned import clean_corpus
from textmill.text.raw import read


def main() -> None:
    """Write `data/clean/{train,valid,test}.arrow`, its summary, metrics, and the waterfall."""
    chosen = settings.load("clean")
    name = chosen["corpus"]
    corpus = settings.parse(Corpus, chosen["corpora"][name], where=f"params.yaml: corpora.{name}")
    cleaned = clean_corpus(read(layout.RAW), corpus, name)
    with replacing_folder(layout.CLEAN) as folder:
        for split in SPLITS:
            write_table(folder / layout.clean_split(split).name, cleaned.table(split))
        summary = cleaned.summary()
        write_json(folder / layout.CLEAN_SUMMARY.name, summary)
    # `dvc metrics show` lays every metric beside the models', so only the telling ones go there.
    metrics = {name: summary[name] for name in ("documents", "bytes")}
    overlap = {name: summary["overlap"][name] for name in ("ngrams", "lines")}
    write_json(layout.CLEAN_METRICS, metrics | {"overlap": overlap})
    write_atomically(layout.WATERFALL_PLOT, waterfall_csv(summary["waterfall"]))
    write_atomically(layout.WATERFALL_PAGE, waterfall_html(name, corpus.title, summary))


if __name__ == "__main__":
    settings.run(main)

"""Stage download: bring the chosen text and check it against its pin."""

from pipeline_steps import settings
from textmill.base.files import replacing_folder
from textmill.repository import layout
from textmill.text.catalogue import Corpus
from textmill.text.raw import store


def main() -> None:
    """Write `data/raw`: the files of the corpus and `source.json`."""
    chosen = settings.load("download")
    name = chosen["corpus"]
    corpus = settings.parse(Corpus, chosen["corpora"][name], where=f"params.yaml: corpora.{name}")
    with replacing_folder(layout.RAW) as folder:
        store(name, corpus, layout.DOWNLOADS, folder)


if __name__ == "__main__":
    settings.run(main)

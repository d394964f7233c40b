"""Stage shard: turn every split into Arrow shards of token ids, with a manifest."""

import shutil

from pipeline_steps import settings
from textmill.base.files import read_record, replacing_folder, write_json
from textmill.repository import layout
from textmill.scoring.codec import load_codec
from textmill.shards.reader import FORMAT, SPLITS
from textmill.shards.work import write_splits
from textmill.tokenizers import store


def main() -> None:
    """Write `data/shards/KEY`."""
    key = settings.key()
    vocabulary = layout.vocabulary(key)
    tokenizer = store.load(vocabulary)
    text_sha256 = read_record(layout.CLEAN_SUMMARY, "sha256")["sha256"]
    scratch = settings.scratch()
    sources = {split: layout.clean_split(split) for split in SPLITS}
    entries = write_splits(sources, load_codec, vocabulary, scratch)
    with replacing_folder(layout.shards(key)) as folder:
        for entry in entries.values():
            for shard in entry["shards"]:
                shutil.move(scratch / shard["file"], folder / shard["file"])
        about = {"format": FORMAT, "tokenizer": key, "kind": tokenizer.kind}
        fingerprint = {"fingerprint": tokenizer.vocabulary.fingerprint}
        splits = {split: {"text_sha256": text_sha256[split], **entries[split]} for split in SPLITS}
        write_json(folder / "manifest.json", {**about, **fingerprint, "splits": splits})


if __name__ == "__main__":
    settings.run(main)

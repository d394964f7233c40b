"""Stage shard: turn every split into Arrow shards of token ids, with a manifest."""

from pipeline_steps import settings
from textmill.base.files import read_record, read_table, replacing_folder, write_json
from textmill.repository import layout
from textmill.scoring.spelling import load_spelling, no_bill
from textmill.shards.reader import FORMAT, SPLITS
from textmill.shards.writer import write_split
from textmill.tokenizers import store


def main() -> None:
    """Write `data/shards/KEY`."""
    key = settings.key()
    vocabulary_folder = layout.vocabulary(key)
    tokenizer = store.load(vocabulary_folder)
    has_unknown = tokenizer.vocabulary.unknown != "none"
    bill = load_spelling(vocabulary_folder / "spelling").nats if has_unknown else no_bill
    text_sha256 = read_record(layout.CLEAN_SUMMARY, "sha256")["sha256"]
    with replacing_folder(layout.shards(key)) as folder:
        splits = {}
        for split in SPLITS:
            documents = read_table(layout.clean_split(split))
            entry = write_split(documents, split, tokenizer, bill, folder)
            splits[split] = {"text_sha256": text_sha256[split], **entry}
        about = {"format": FORMAT, "tokenizer": key, "kind": tokenizer.kind}
        fingerprint = {"fingerprint": tokenizer.vocabulary.fingerprint}
        write_json(folder / "manifest.json", {**about, **fingerprint, "splits": splits})


if __name__ == "__main__":
    settings.run(main)

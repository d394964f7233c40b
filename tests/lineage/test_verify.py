"""A flipped byte anywhere behind a model is found, and the first broken link is named."""

import hashlib
import json
import shutil

import pytest

from tests.lineage.made import change_board, write_lock
from textmill.base.errors import UserError
from textmill.lineage.publication import publication
from textmill.lineage.trace import render, trace
from textmill.lineage.verify import in_words, verify

LINKS = {
    "data/raw/files/tales.txt": "data/raw/files/tales.txt",
    "data/clean/train.arrow": "data/clean",
    "data/clean/summary.json": "data/clean",
    "data/vocabulary/word/record.json": "data/vocabulary/word",
    "data/shards/word/record.json": "data/shards/word",
    "models/kn3/record.json": "models/kn3",
    "models/lstm/model.json": "models/lstm",
    "scores/kn3/test.arrow": "scores/kn3",
    "scores/mix/summary.json": "scores/mix",
    "metrics/clean.json": "metrics/clean.json",
    "metrics/models/kn3.json": "metrics/models/kn3.json",
    "metrics/models/mix.json": "metrics/models/mix.json",
    "history/lstm.csv": "history/lstm.csv",
    "reports/leaderboard.json": "reports/leaderboard.json",
    "reports/leaderboard.html": "reports/leaderboard.html",
}


def flip(path, place=-3):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_what_was_not_touched_holds(made):
    links, broken, not_made = verify(None, made)
    assert (broken, not_made) == (None, ())
    # raw, clean, vocabulary, shards, 3 models and 4 scores, what each of them read (18), the raw
    # file, the record, the pin and the text of one's own
    # besides: metrics of the text and 4 models, a history, 2 reports, 4 models' ranked numbers
    assert links == 11 + 18 + 4 + 12
    # the same without the other models: raw, clean, vocabulary, shards, kn3 and its scores;
    # besides: 2 metrics, its ranked numbers
    assert verify("kn3", made) == (6 + 8 + 4 + 3, None, ())


@pytest.mark.parametrize("file", LINKS)
def test_a_flipped_byte_names_its_link(made, file):
    flip(made / file)
    broken = verify(None, made).broken
    assert broken.link == LINKS[file]
    assert broken.expected != broken.found
    assert broken.expected.split()[0] == broken.found.split()[0] in ("md5", "sha256")
    assert "dvc checkout" in broken.next_step


def test_the_cause_is_named_and_not_its_consequence(made):
    for file in ("scores/mix/test.arrow", "models/kn3/record.json", "data/clean/valid.arrow"):
        flip(made / file)
    assert verify(None, made)[1].link == "data/clean"


def test_other_models_do_not_matter(made):
    flip(made / "models/lstm/model.json")
    assert verify("unigram", made)[1] is None
    assert verify("mix", made)[1].link == "models/lstm"


def test_a_damaged_record_of_the_raw_files_is_the_broken_link(made):
    (made / "data/raw/source.json").write_text("{")
    broken = verify(None, made).broken
    assert broken.link == "data/raw/source.json"
    assert "not whole JSON" in broken.found


def test_a_pin_that_tells_of_another_text_is_broken(made):
    params = made / "params.yaml"
    pinned = json.loads((made / "data/raw/source.json").read_text())["files"][0]["sha256"]
    params.write_text(params.read_text().replace(pinned, "b" * 64))
    broken = verify(None, made).broken
    assert (broken.expected, broken.found) == (f"sha256 {'b' * 64}", f"sha256 {pinned}")
    assert "params.yaml" in broken.link


def test_raw_files_changed_together_with_their_record_do_not_fit_the_pin(made):
    """Who changes file, source.json and dvc.lock alike is stopped by the pin."""
    file = made / "data/raw/files/tales.txt"
    before = json.loads((made / "data/raw/source.json").read_text())["files"][0]["sha256"]
    flip(file)
    after = hashlib.sha256(file.read_bytes()).hexdigest()
    source = made / "data/raw/source.json"
    source.write_text(source.read_text().replace(before, after))
    write_lock(made)
    broken = verify(None, made).broken
    assert broken.expected == f"sha256 {before}"
    assert broken.found == f"sha256 {after}"


def test_a_file_that_is_gone_is_told_how_to_come_back(made):
    (made / "models/kn3/record.json").unlink()
    (made / "models/kn3").rmdir()
    broken = verify("kn3", made).broken
    assert (broken.link, broken.found) == ("models/kn3", "nothing there")
    assert broken.next_step == (
        "dvc checkout models/kn3   (not in the cache: dvc pull models/kn3, or: dvc repro)"
    )


def test_a_fresh_clone_is_told_that_nothing_was_built_yet(made):
    for folder in ("data", "models", "scores"):
        (made / folder).rename(made / f"{folder}.away")
    for name, count in ((None, 11), ("kn3", 6)):
        with pytest.raises(
            UserError, match=f"nothing was built here yet: of {count} .*\\n  -> make"
        ):
            verify(name, made)


def test_what_a_half_built_pipeline_has_not_made_is_not_called_broken(made):
    for path in ("scores/mix", "scores/lstm", "models/lstm", "reports/leaderboard.json"):
        remove(made / path)
    found = verify("mix", made).broken
    assert (found.link, found.unbuilt) == ("models/lstm", True)
    assert found.found == "nothing there (2 more)"
    text = in_words(found)
    assert text.startswith("not built yet: models/lstm\n")
    assert text.endswith("  -> dvc repro   (where DVC's remote has it: dvc pull)")
    assert verify("kn3", made).broken is None
    whole = verify(None, made)
    not_made = ("models/lstm", "scores/lstm", "scores/mix", "reports/leaderboard.json")
    assert (whole.broken, whole.not_made) == (None, not_made)
    flip(made / "scores/kn3/test.arrow")  # damage to what is there comes first
    assert verify(None, made).broken.link == "scores/kn3"
    assert (verify("mix", made).broken.link, verify("mix", made).broken.unbuilt) == (
        "scores/kn3",
        False,
    )


def test_a_stage_that_was_stopped_while_it_ran_anew_is_not_called_broken(made):
    """DVC removes its outputs first, and what was made of the ones before is still there."""
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", "order: 4"))
    remove(made / "models/kn3")
    found = verify("kn3", made).broken
    assert (found.link, found.unbuilt) == ("models/kn3", True)
    params.write_text(params.read_text().replace("corpus: tales", "corpus: others"))
    params.write_text(params.read_text().replace("\n  tales:", "\n  others:"))
    found = verify("unigram", made).broken
    assert (found.expected, found.found) == ("corpus others", "corpus tales")
    assert found.unbuilt
    remove(made / "data/raw")
    found = verify("unigram", made).broken
    assert (found.link, found.found, found.unbuilt) == ("data/raw", "nothing there", True)


def test_compressed_files_of_ones_own_are_checked_against_their_pin(made):
    """The pin covers the files as they lie there, data/raw holds what came out of them."""
    params, source = made / "params.yaml", made / "data/raw/source.json"
    record = json.loads(source.read_text())
    sha256 = record["files"][0]["sha256"]
    digest = hashlib.sha256(f"tales.txt.gz\0{'d' * 64}\n".encode()).hexdigest()
    text = params.read_text()
    pinned = f"path: tales.txt.gz\n    digest: {digest}"
    params.write_text(text.replace(f"sha256: {sha256}", pinned))
    record["files"][0]["packed"] = {"name": "tales.txt.gz", "bytes": 3, "sha256": "d" * 64}
    source.write_text(json.dumps(record))
    write_lock(made)
    assert verify("kn3", made)[1] is None
    assert "    tales.txt.gz  sha256 " in render(trace("kn3", made)).replace("out of ", "")
    record["files"][0]["packed"]["sha256"] = "e" * 64
    source.write_text(json.dumps(record))
    write_lock(made)
    assert verify("kn3", made)[1].expected == f"digest {digest}"


def test_a_model_of_other_shards_than_those_there_is_to_be_made_anew(made):
    """The shards were made anew and recorded, the model was not."""
    lock = made / "dvc.lock"
    old = lock.read_text()
    (made / "data/shards/word/record.json").write_text('{"made": "anew"}\n')
    write_lock(made)
    lines = lock.read_text().splitlines()
    begins = next(n for n, line in enumerate(lines) if line.strip() == "ngram@kn3:")
    old_lines = old.splitlines()
    lines[begins : begins + 12] = old_lines[begins : begins + 12]
    lock.write_text("\n".join(lines) + "\n")
    broken = verify("kn3", made).broken
    assert broken.link == "models/kn3, made by ngram@kn3 from data/shards/word"
    assert (broken.next_step, broken.unbuilt) == ("dvc repro", True)
    assert verify("unigram", made)[1] is None


def test_the_message_says_what_where_and_what_to_type(made):
    flip(made / "models/kn3/record.json")
    text = in_words(verify("kn3", made)[1])
    assert text.splitlines()[0] == "broken link: models/kn3"
    assert text.splitlines()[-1].startswith("  -> rm -r models/kn3; dvc checkout models/kn3")


def test_an_unknown_model_is_told_the_nearest_name(made):
    with pytest.raises(UserError, match='did you mean "unigram"'):
        verify("unigrm", made)


def test_a_model_that_was_never_scored_is_not_called_whole(made):
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("  kn3:", "  kn4: {tokenizer: word}\n  kn3:"))
    with pytest.raises(UserError, match="kn4 has not been scored yet"):
        verify("kn4", made)
    whole = verify(None, made)
    assert (whole.broken, whole.not_made) == (None, ("models/kn4", "scores/kn4"))


def test_a_text_of_ones_own_is_checked_against_its_digest(made):
    params = made / "params.yaml"
    sha256 = hashlib.sha256((made / "data/raw/files/tales.txt").read_bytes()).hexdigest()
    digest = hashlib.sha256(f"tales.txt\0{sha256}\n".encode()).hexdigest()
    text = params.read_text().replace(f"sha256: {sha256}", f"path: tales.txt\n    digest: {digest}")
    assert "digest:" in text
    params.write_text(text)
    assert verify("kn3", made)[1] is None
    params.write_text(text.replace(digest, "c" * 64))
    broken = verify("kn3", made).broken
    assert broken.expected == f"digest {'c' * 64}"
    assert broken.found == f"digest {digest}"


def test_a_models_own_reports_are_looked_at_and_no_others(made):
    flip(made / "history/lstm.csv")
    flip(made / "metrics/models/unigram.json")
    assert verify("kn3", made)[1] is None
    assert verify("unigram", made)[1].link == "metrics/models/unigram.json"
    assert verify("lstm", made)[1].link == "history/lstm.csv"
    assert verify("mix", made)[1].link == "history/lstm.csv"


def test_ranked_numbers_that_are_not_the_scores_are_broken(made):
    """Also where somebody wrote the leaderboard's new hash into dvc.lock."""
    scored = json.loads((made / "scores/kn3/summary.json").read_text())["test"]["bits_per_byte"]
    change_board(made, kn3={"bits_per_byte": 0.5})
    write_lock(made)
    for name in ("kn3", None):
        broken = verify(name, made).broken
        assert broken.link == "reports/leaderboard.json, kn3"
        assert broken.expected == f"bits_per_byte of test {scored}"
        assert broken.found == "bits_per_byte of test 0.5"
        assert broken.next_step == "dvc repro compare"
    assert verify("unigram", made)[1] is None


def test_what_was_published_is_compared_where_it_is_here(made):
    """It is not cached: a clone has none, and that is no broken link."""
    file = made / "reports/published.json"
    file.write_text("{}")
    md5 = hashlib.md5(b"{}").hexdigest()
    lock = made / "dvc.lock"
    entry = f"{{path: reports/published.json, hash: md5, md5: {md5}, size: 2}}"
    lock.write_text(lock.read_text() + f"  publish:\n    cmd: x\n    outs: [{entry}]\n")
    graph = made / "dvc.yaml"
    graph.write_text(
        graph.read_text() + "  publish:\n    cmd: x\n    outs: [reports/published.json]\n"
    )
    whole, broken, _ = verify(None, made)
    assert broken is None
    flip(file, 0)
    broken = verify(None, made)[1]
    assert (broken.link, broken.next_step) == ("reports/published.json", "dvc repro publish")
    file.unlink()
    assert verify(None, made) == (whole - 1, None, ())


@pytest.mark.parametrize(
    "change",
    [{"files": [1]}, {"asked": None}, {"title": None}, {"files": {}}, {"download": [1]}],
)
def test_a_record_of_something_else_is_the_broken_link(made, change):
    path = made / "data/raw/source.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    broken = verify(None, made)[1]
    assert broken.link == "data/raw/source.json"
    assert next(iter(change)) in broken.found
    for act in (lambda: trace("kn3", made), lambda: publication(made)):
        with pytest.raises(UserError, match=r"source\.json"):
            act()

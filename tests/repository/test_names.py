"""Names are safe, and every reference names something."""

import pytest

from textmill.base.errors import UserError
from textmill.repository.names import check_names

GOOD = """\
tokenizers: {word: {kind: word}}
ngrams: {kn: {tokenizer: word, method: kneser_ney, order: 3}}
networks: {lstm: {tokenizer: word}}
adapted: {cached: {model: lstm, tokenizer: word}}
mixtures: {mix: {first: kn, second: cached}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kn: {tok", "a/b: {tok", r"params\.yaml: ngrams: 'a/b' is no name"),
        ("kn: {tok", "'my model': {tok", "'my model' is no name"),
        ("kn: {tok", "'$(x)': {tok", "is no name"),
        ("kn: {tok", "7: {tok", '7 is a number, and a name is text(.|\\n)*in quotes: "7"'),
        (
            "lstm: {tokenizer: word",
            "lstm: {tokenizer: wrod",
            r"networks\.lstm: tokenizer is 'wrod', which names no entry; did you mean \"word\"",
        ),
        (
            "second: cached",
            "second: lsm",
            r"mixtures\.mix: second is 'lsm', which names no entry; did you mean \"lstm\"",
        ),
        ("second: cached", "second: mix", "which names no entry"),
        ("model: lstm", "model: kn", r"adapted\.cached: model is 'kn', which names no entry"),
        ("model: lstm", "model: cached", "which names no entry"),
        (
            "{kn: {tokenizer: word, method: kneser_ney, order: 3}}",
            "[]",
            "which names no entry|must map",
        ),
    ],
)
def test_a_wrong_name_is_refused(old, new, message, tmp_path):
    assert GOOD.count(old) == 1
    (tmp_path / "params.yaml").write_text(GOOD)
    check_names(tmp_path)
    (tmp_path / "params.yaml").write_text(GOOD.replace(old, new))
    with pytest.raises(UserError, match=message):
        check_names(tmp_path)

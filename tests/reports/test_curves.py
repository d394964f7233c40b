"""Learning curves on the common scale."""

import math

import pytest

from textmill.base.errors import UserError
from textmill.reports.curves import Curve, learning_curves, render_curves

HEADER = "step,tokens,train_loss,valid_loss,learning_rate,gradient_norm\n"


def test_a_curve_ends_where_the_evaluation_ends(tmp_path, one_metrics):
    found = one_metrics("lstm_word", 1.6, "word")
    valid = found["valid"]
    loss = valid["nats_tokens"] / valid["tokens"]
    path = tmp_path / "lstm_word.csv"
    path.write_text(f"{HEADER}10,1000,7.0,6.5,0.1,1.0\n20,2000,6.0,{loss!r},0.1,1.0\n")
    (curve,) = learning_curves({"lstm_word": path}, {"lstm_word": found})
    assert curve.bits_per_byte[-1] == pytest.approx(valid["bits_per_byte"], rel=1e-12)
    assert curve.megabytes == pytest.approx((0.005, 0.010))
    assert (curve.name, curve.tokenizer) == ("lstm_word", "word")


def test_tokens_of_any_size_read_the_same_text(tmp_path, one_metrics):
    found = {name: one_metrics(f"lstm_{name}", 1.6, name) for name in ("char", "subword")}
    paths = {name: tmp_path / f"{name}.csv" for name in found}
    for name, path in paths.items():
        path.write_text(f"{HEADER}1,{found[name]['valid']['tokens'] * 5},3.0,3.0,0.1,1.0\n")
    curves = learning_curves(paths, found)
    assert [curve.megabytes for curve in curves] == [pytest.approx((0.03,))] * 2
    char, subword = (curve.bits_per_byte[0] for curve in curves)
    assert char == pytest.approx(3.0 / math.log(2))
    assert subword == pytest.approx(1.0 / math.log(2))


def test_looks_that_are_not_finite_and_unranked_models_are_left_out(tmp_path, one_metrics):
    path = tmp_path / "lstm.csv"
    path.write_text(f"{HEADER}1,100,nan,inf,0.1,1.0\n2,200,3.0,2.5,0.1,1.0\n")
    (curve,) = learning_curves({"lstm": path, "other": path}, {"lstm": one_metrics("lstm", 1.6)})
    assert len(curve.megabytes) == 1


def test_the_best_look_is_the_first_of_the_best():
    scores = (3.0, 1.8, 1.7, 1.7, 1.9)
    assert Curve("lstm", "char", tuple(map(float, range(5))), scores).best == 2


@pytest.mark.parametrize("content", ["step\n1\n", "tokens,valid_loss\n12,half"])
def test_a_damaged_history_is_named(content, tmp_path, one_metrics):
    path = tmp_path / "lstm.csv"
    path.write_text(content)
    found = {"lstm": one_metrics("lstm", 1.6, "word")}
    with pytest.raises(UserError, match=r"lstm\.csv: it is not a whole learning history"):
        learning_curves({"lstm": path}, found)


def test_the_table_for_plots_has_every_look_of_every_network(tmp_path):
    for name, rows in {
        "b": "1,10,7.0,6.5,0.1,nan\n",
        "a": "1,5,2,3,0.2,1\n2,9,1,2,0.1,2\n",
    }.items():
        (tmp_path / f"{name}.csv").write_text(HEADER + rows)
    assert render_curves({name: tmp_path / f"{name}.csv" for name in "ba"}) == (
        "model,step,tokens,train_loss,valid_loss,learning_rate,gradient_norm\n"
        "a,1,5,2,3,0.2,1\na,2,9,1,2,0.1,2\nb,1,10,7.0,6.5,0.1,nan\n"
    )
    (tmp_path / "a.csv").write_text(HEADER + "1,5,2,3,0.2\n")
    with pytest.raises(UserError, match=r"a\.csv: it is not a whole learning history"):
        render_curves({"a": tmp_path / "a.csv"})

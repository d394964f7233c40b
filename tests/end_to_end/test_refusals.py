"""Wrong use ends in one clear message and a non-zero exit, never in a traceback."""

import pytest

pytestmark = pytest.mark.slow


def refused(repository, *command):
    output = repository.fails(*command)
    assert "Traceback" not in output, output
    return output


def test_an_unknown_parameter_is_refused_with_the_nearest_name(repository):
    repository.edit("    hidden: 16", "    hiden: 16")
    output = refused(repository, "dvc", "repro")
    assert (
        'params.yaml: networks.lstm_subword: unknown key "hiden"; did you mean "hidden"?' in output
    )


def test_an_option_of_another_method_is_refused(repository):
    repository.edit("order: 3", "order: 3\n    k: 0.5")
    assert "k does not belong to kneser_ney" in refused(repository, "dvc", "repro")


def test_more_pieces_than_the_text_gives_names_the_largest_number(repository):
    repository.edit("pieces: 320", "pieces: 9000")
    output = refused(repository, "dvc", "repro")
    assert "cannot give 9,000 pieces, at most" in output
    assert "in params.yaml" in output


def test_a_mixture_over_two_tokenizations_is_refused(repository):
    repository.edit("first: kn3_subword", "first: bigram_word")
    output = refused(repository, "dvc", "repro")
    assert "split text differently, so they cannot be mixed" in output


def test_a_text_that_changed_since_its_pin_is_refused(repository):
    with (repository.path / "text.txt").open("a") as file:
        file.write("One more line.\n")
    output = refused(repository, "dvc", "repro", "--force", "download")
    assert "textmill pin text.txt" in output


def test_half_a_lock_file_is_named_before_anything_runs(repository):
    lock = repository.path / "dvc.lock"
    lock.write_text(lock.read_text()[:200])
    output = repository.textmill("check", code=2)
    assert "dvc.lock: it is not a whole lock file" in output
    assert "-> git checkout dvc.lock, then: dvc repro" in output
    repository.run("git", "checkout", "dvc.lock")
    assert "params.yaml is sound" in repository.textmill("check")


def test_an_unknown_corpus_is_refused_with_the_nearest_name(repository):
    output = repository.textmill("use", "locl", code=2)
    assert 'there is no corpus "locl"; did you mean "local"?' in output


def test_a_folder_without_params_is_named(repository, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    output = repository.fails("sh", "-c", f"cd {tmp_path}/elsewhere && textmill leaderboard")
    assert "Traceback" not in output
    assert "nor a folder above it holds params.yaml and dvc.yaml" in output


def test_a_model_that_a_mixture_still_names_cannot_be_removed_in_silence(repository):
    text = (repository.path / "params.yaml").read_text()
    start, stop = text.index("networks:"), text.index("mixtures:")
    (repository.path / "params.yaml").write_text(
        text[:start] + "networks: {}\nadapted: {}\n" + text[stop:]
    )
    output = refused(repository, "dvc", "repro")
    assert "mixtures.mix_subword: second is 'lstm_subword', which names no entry" in output
    assert (repository.path / "scores/lstm_subword").is_dir()

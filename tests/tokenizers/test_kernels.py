"""The compiled loops against plain Python, and how their machine code is kept and shared."""

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.compiled import Kernel, read_only
from textmill.shards.lines import lines_of
from textmill.tokenizers import kernels, store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.splitting import split_words, words_and_characters
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.words import WordConfig

any_line = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\n"))
spaced = st.text("a \u00e9\u4e2d\U0001f600", max_size=40)
lines = st.lists(any_line | spaced, max_size=8)


@settings(deadline=None)
@given(lines, st.integers(0, 2))
def test_words_are_those_of_split(texts, cut):
    column = as_column(texts)[cut:]
    found = split_words(column)
    expected = [[part for part in text.split(" ") if part] for text in texts[cut:]]
    words = found.units.column().to_pylist()
    bounds = found.offsets.tolist()
    assert [words[a:b] for a, b in pairwise(bounds)] == expected
    assert found.lossy_lines == sum(
        " ".join(parts) != text for parts, text in zip(expected, texts[cut:], strict=True)
    )


@settings(deadline=None)
@given(lines)
def test_words_and_characters_are_counted(texts):
    words, characters = words_and_characters(as_column(texts))
    assert words.tolist() == [len([part for part in text.split(" ") if part]) for text in texts]
    assert characters.tolist() == [len(text) for text in texts]


@settings(deadline=None)
@given(st.lists(lines, max_size=4))
def test_lines_are_those_of_split_lines(documents):
    texts = ["".join(line + "\n" for line in one) for one in documents]
    found = lines_of(pa.table({"text": pa.array(texts, pa.large_string())}), 7)
    assert found.text.to_pylist() == [line for one in documents for line in one]
    assert found.doc.tolist() == [7 + row for row, one in enumerate(documents) for _ in one]


@settings(deadline=None)
@given(lines, st.integers(1, 3))
def test_ids_are_those_of_a_dictionary(texts, minimum):
    """Words and characters as everybody writes them: count, sort, look up."""
    for config in (WordConfig("word", minimum), CharConfig("char", minimum)):
        rows = [text.split(" ") if config.kind == "word" else list(text) for text in texts]
        rows = [[unit for unit in row if unit] for row in rows]
        flat = [unit for row in rows for unit in row]
        kept = sorted((-flat.count(unit), unit) for unit in set(flat))
        ids = {unit: 3 + i for i, (n, unit) in enumerate(kept) if -n >= minimum}
        tokenizer, dropped = store.train(as_column(texts), config)
        encoded = tokenizer.encode(as_column(texts))
        tokens, ends = with_line_ends(encoded.ids, encoded.offsets)
        assert tokens.tolist() == [i for row in rows for i in [*(ids.get(u, 0) for u in row), 2]]
        assert np.diff(ends).tolist() == [len(row) + 1 for row in rows]
        unknown = [unit for unit in flat if unit not in ids]
        assert encoded.unknown_texts.to_pylist() == unknown
        assert sorted(dropped) == sorted(set(unknown))


@pytest.mark.parametrize(
    "broken", [b"\xff", b"a\xf0", b"\xf7\xbf\xbf\xbf", b"\xe4\xb8", b"\x80\x80"]
)
def test_what_is_no_utf8_reads_nothing_that_is_not_there(broken):
    """A damaged file may give wrong characters, but no place outside a table or the text."""
    data = read_only(np.frombuffer(broken, np.uint8))
    bounds = read_only(np.array([0, len(data)]))
    itself = read_only(np.arange(0x200000, dtype=np.uint32))
    ids, offsets = np.empty(len(data), np.uint32), np.empty(2, np.int64)
    n = kernels.encode_characters(data, bounds, itself, ids, offsets)
    assert 1 <= n <= len(data)
    counts = np.zeros(0x200000, np.int64)
    assert kernels.count_characters(data, counts) == max(ids[:n].tolist()) + 1
    assert counts.sum() == n


COUNT = """
import sys
from textmill.tokenizers import kernels
from textmill.tokenizers.splitting import words_and_characters
from textmill.tokenizers.strings import as_column
print(words_and_characters(as_column(["a b", " c"]))[0].sum())
print(kernels.measure_lines.dispatcher.stats.cache_hits)
"""


@pytest.fixture
def code(root, tmp_path):
    """A copy of the code that has compiled nothing yet."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "textmill", tmp_path / "textmill", ignore=ignore)
    return tmp_path


def count(code, **environment):
    """Words of two lines counted in a new process, and whether the machine code was there."""
    plain = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", COUNT],
        cwd=code,
        env={**plain, "PYTHONPATH": str(code), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process):
    output, errors = process.communicate(timeout=120)
    assert errors == ""
    assert process.returncode == 0
    return output.split()


def kept(code):
    return sorted(path.name for path in code.rglob("*.nbi"))


def test_machine_code_is_kept_and_read_by_the_next_process(code):
    assert told(count(code)) == ["3", "Counter()"]
    assert len(kept(code)) == 1
    assert "measure_lines" in kept(code)[0]
    assert told(count(code))[0] == "3"
    (output,) = [" ".join(told(count(code)))]
    assert "uint8" in output, "it was read from the disk"


def test_two_processes_may_compile_at_once(code):
    both = [count(code), count(code)]
    assert [told(process)[0] for process in both] == ["3", "3"]
    assert len(kept(code)) == 1


WIDTHS = """
import sys
import numpy as np
from textmill.ngram.columns import of_integers
width = sys.argv[1]
print(of_integers(np.arange(1, 9, dtype=width)).integers().tolist())
"""


def test_processes_may_compile_different_types_at_once(code):
    """Each finds its own code afterwards, though all write one index."""
    command = [sys.executable, "-W", "error", "-c", WIDTHS]
    environment = {**os.environ, "PYTHONPATH": str(code), "NUMBA_CACHE_DIR": ""}
    widths = ["uint8", "uint16"]
    for _ in range(2):
        started = [
            subprocess.Popen(
                [*command, width],
                cwd=code,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for width in widths
        ]
        for process in started:
            assert told(process) == ["[1,", "2,", "3,", "4,", "5,", "6,", "7,", "8]"]
    names = [path.name for path in code.rglob("columns._pack-*.nbc")]
    assert len(names) == len(set(names)) == 2
    (index,) = code.rglob("columns._pack-*.nbi")
    assert index.parent.name.startswith("numba-")


def test_a_changed_function_in_another_file_is_compiled_anew(code):
    """`query.find` reads columns by functions of columns.py: their change is its change."""
    script = "from textmill.ngram import query as q; print(q.find.dispatcher._cache.cache_path)"
    command = [sys.executable, "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(code), "NUMBA_CACHE_DIR": ""}
    places = []
    for _ in range(2):
        done = subprocess.run(command, cwd=code, env=environment, text=True, capture_output=True)
        places.append(done.stdout)
        with (code / "textmill/ngram/columns.py").open("a") as file:
            file.write("# another version\n")
    assert places[0] != places[1]
    assert "numba-" in places[0]


def test_changed_source_is_compiled_anew(code):
    """Also where what is kept looks new: its folder is named by the source."""
    assert told(count(code))[0] == "3"
    source = code / "textmill/tokenizers/kernels.py"
    before = source.stat()
    text = source.read_text()
    changed = text.replace("words[line] = n_words", "words[line] = 7")
    assert changed != text
    source.write_text(changed)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(count(code))[0] == "14"
    assert len(kept(code)) == 2


def test_where_nothing_can_be_kept_each_process_compiles(code, tmp_path):
    """A file where a folder should be: nobody, root neither, can write into it."""
    (code / "textmill/tokenizers/__pycache__").write_text("")
    nowhere = tmp_path / "nowhere"
    nowhere.write_text("")
    words = told(count(code, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere)))
    assert words == ["3", "Counter()"]


def test_a_disk_that_fills_up_is_no_error(monkeypatch, tmp_path):
    """Where the machine code cannot be written when it is there."""
    import numba  # noqa: PLC0415

    from textmill.base import kept  # noqa: PLC0415

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kept._Cache, "save_overload", full)
    kernel = Kernel(kernels.count_characters.__wrapped__)
    kept_one = kernel.dispatcher
    counts = np.zeros(0x200000, np.int64)
    data = read_only(np.frombuffer(b"abca", np.uint8))
    assert kernel(data, counts) == ord("c") + 1
    assert counts[97:100].tolist() == [2, 1, 1]
    assert kernel.dispatcher is not kept_one


STEPS = ("download", "clean", "train", "evaluate_network", "mix", "describe", "compare")
"""The others split texts, or estimate or ask an n-gram model, if only how words are spelled."""


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_calls_no_kernel_does_not_import_numba(root, step):
    script = f"import sys, pipeline_steps.{step}; print('numba' in sys.modules)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True, check=True)
    assert re.findall("True|False", done.stdout) == ["False"]

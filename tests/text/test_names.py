from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textmill.text.names import ArchiveError, Names, safe

parts = st.sampled_from(["..", ".", "", "a", "b c", "/", "C:", "\\", "ä", "\0", "~", "...", "-"])
names = st.one_of(st.text(max_size=30), st.lists(parts, max_size=6).map("/".join))


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names)
def test_a_name_is_refused_or_lies_inside_whatever_it_is(name: str, tmp_path: Path) -> None:
    try:
        found = safe(name)
    except ArchiveError:
        return
    assert (tmp_path / found).resolve().is_relative_to(tmp_path.resolve())
    assert safe(found) == found
    assert found.encode().decode() == found


@given(st.lists(st.text("ab/", min_size=1, max_size=5), max_size=8))
def test_the_files_that_are_taken_can_be_written_side_by_side(raw: list[str]) -> None:
    taken = Names()
    files: list[str] = []
    for name in raw:
        try:
            files.append(taken.add(name, "file"))
        except ArchiveError:
            continue
    assert len(set(files)) == len(files)
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    assert not folders & set(files)


def test_a_folder_may_be_there_twice_and_a_file_may_not() -> None:
    names = Names()
    assert [names.add(name, "folder") for name in ("./", "a/", "a")] == [".", "a", "a"]
    assert names.add("a//b", "file") == "a/b"
    with pytest.raises(ArchiveError, match="a/b is there twice"):
        names.add("./a/b", "file")

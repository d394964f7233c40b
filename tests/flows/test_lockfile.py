"""A dvc.lock that a kill cut in half is put back, and nobody else's damage is touched."""

from flows.lockfile import COPY, Keeper

WHOLE = """\
schema: '2.0'
stages:
  clean:
    cmd: exec python -m pipeline_steps.clean
    outs:
    - path: data/clean
      md5: 0123456789abcdef0123456789abcdef.dir
      size: 12
      nfiles: 1
"""
TORN = WHOLE[: WHOLE.index("md5: 0123") + 2]


def test_half_a_file_is_replaced_by_the_last_whole_one(tmp_path):
    lock = tmp_path / "dvc.lock"
    keeper = Keeper(tmp_path)
    lock.write_text(WHOLE)
    keeper.keep()
    lock.write_text(TORN)
    keeper.keep()
    assert Keeper(tmp_path).mend()
    assert lock.read_text() == WHOLE


def test_a_whole_file_stays_as_it_is(tmp_path):
    lock = tmp_path / "dvc.lock"
    lock.write_text(WHOLE)
    keeper = Keeper(tmp_path)
    keeper.keep()
    later = WHOLE.replace("size: 12", "size: 13")
    lock.write_text(later)
    assert not Keeper(tmp_path).mend()
    assert lock.read_text() == later


def test_damage_outside_a_run_is_left_to_its_owner(tmp_path):
    lock = tmp_path / "dvc.lock"
    lock.write_text(WHOLE)
    keeper = Keeper(tmp_path)
    keeper.keep()
    keeper.forget()
    assert not (tmp_path / COPY).exists()
    lock.write_text(TORN)
    assert not keeper.mend()
    assert lock.read_text() == TORN


def test_a_first_run_has_nothing_to_keep(tmp_path):
    Keeper(tmp_path).keep()
    assert not (tmp_path / COPY).exists()

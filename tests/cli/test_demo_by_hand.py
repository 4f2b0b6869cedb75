"""The table of the demo, where it is written, and how the program is called from there."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from subscape.cli import demo
from subscape.cli.demo import FEATURES, fresh, planted_table, this_command, write_table
from subscape.tables import Table


def told(column, labels):
    """The share of a column's squares that lies between groups."""
    middles = np.array([column[labels == k].mean() for k in range(labels.max() + 1)])
    return 1 - np.square(column - middles[labels]).sum() / np.square(column - column.mean()).sum()


@pytest.mark.parametrize("seed", [0, 5])
def test_three_groupings_each_in_features_of_its_own(seed):
    table, truth = planted_table(seed)
    assert table.shape == (500, 10) and tuple(table.feature_names) == FEATURES
    assert list(truth) == [f"hidden grouping {i}" for i in (1, 2, 3)]
    X = table.to_numpy()
    assert (X.round(2) == X).all() and 30 < X.mean() < 50
    shares = np.array([[told(column, labels) for column in X.T] for labels in truth.values()])
    assert all(set(labels.tolist()) == {0, 1, 2} for labels in truth.values())
    # Three features tell of each, none of two, and one of nothing.
    assert (shares > 0.3).sum(axis=1).tolist() == [3, 3, 3]
    assert np.sort((shares > 0.3).sum(axis=0)).tolist() == [0] + [1] * 9
    assert shares[shares < 0.3].max() < 0.05


def test_the_seed_makes_the_table():
    first, again, other = (planted_table(seed)[0].to_numpy() for seed in (3, 3, 4))
    assert (first == again).all() and not (first == other).any(axis=0).all()


def test_the_table_is_written_as_it_is(tmp_path):
    table = Table.from_array(np.array([[1.0, -2.25], [1234.5, 0.0]]), feature_names=["a", "b"])
    path = write_table(table, tmp_path / "t.csv")
    assert path.read_text() == "a,b\n1,-2.25\n1234.5,0\n"
    again = Table.read(path)
    assert (again.to_numpy() == table.to_numpy()).all()


def test_a_folder_that_is_not_there_yet(tmp_path):
    folder = tmp_path / "demo"
    for expected in ("demo", "demo-2", "demo-3"):
        assert fresh(folder).name == expected and fresh(folder).parent == tmp_path
        fresh(folder).mkdir()


class TestThisCommand:
    @pytest.fixture
    def called(self, tmp_path, monkeypatch):
        def as_(argument, found=None):
            monkeypatch.chdir(tmp_path)
            monkeypatch.setattr(sys, "argv", [str(argument)])
            monkeypatch.setattr(sys, "executable", "/opt/some where/python")
            monkeypatch.setattr(demo.shutil, "which", lambda name: found and str(found))
            return this_command()

        return as_

    @pytest.fixture
    def program(self, tmp_path):
        path = tmp_path / "bin dir" / "subscape"
        path.parent.mkdir()
        path.touch()
        return path

    def test_by_its_name_if_that_is_on_the_path(self, called, program, tmp_path):
        assert called(program, program) == "subscape"
        link = tmp_path / "subscape"
        link.symlink_to(program)
        assert called(program, link) == "subscape"

    def test_by_its_place_if_the_name_finds_none_or_another(self, called, program, tmp_path):
        other = tmp_path / "subscape"
        other.touch()
        assert called(program) == "'bin dir/subscape'" == called(program, other)
        assert called("bin dir/subscape") == "'bin dir/subscape'"

    def test_from_elsewhere_by_the_whole_path(self, called, program, tmp_path, monkeypatch):
        away = tmp_path / "away"
        away.mkdir()
        monkeypatch.setattr(sys, "argv", [str(program)])
        monkeypatch.setattr(demo.shutil, "which", lambda name: None)
        monkeypatch.chdir(away)
        assert this_command() == f"'{program}'"

    def test_as_a_module(self, called, program, tmp_path):
        for argument in (tmp_path / "gone" / "subscape", "-m", tmp_path / "pytest"):
            assert called(argument, program) == "subscape"
            assert called(argument) == "'/opt/some where/python' -m subscape"

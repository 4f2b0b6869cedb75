from __future__ import annotations

from dataclasses import replace

from click.testing import CliRunner

from subscape.cli.main import cli
from subscape.exploration import load_study
from subscape.report import render
from subscape.testing.studies import planted_study


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_pictures_of_a_saved_study(tmp_path):
    folder = planted_study(60, n_clusters=(2,), n_results=5).save(tmp_path / "study")
    result = run("figures", folder, "--format", "svg")
    assert result.exit_code == 0, result.output
    written = sorted(path.name for path in (folder / "figures").iterdir())
    assert written == [
        "distances.svg", "map.svg", "view-1-cells.svg", "view-1-features.svg", "view-1-scatter.svg",
    ]  # fmt: skip
    assert all(str(folder / "figures" / name) in result.output for name in written)


def test_another_folder(tmp_path):
    folder = planted_study(60, n_clusters=(2,), results=()).save(tmp_path / "study")
    assert run("figures", folder, "--format", "png", "-o", tmp_path / "paper").exit_code == 0
    assert (tmp_path / "paper" / "view-1-scatter.png").exists()
    assert not (folder / "figures").exists()


def test_no_study_there(tmp_path):
    result = run("figures", tmp_path)
    assert result.exit_code == 2
    assert "holds no study" in result.output


def test_a_saved_study_has_the_same_page(tmp_path):
    study = planted_study(80, untidy=True)
    again = load_study(study.save(tmp_path / "study"))
    assert render(again) == render(replace(study, folder=again.folder))

"""What is known on the way: provisional studies, each with what is still to come."""

import numpy as np
from click.testing import CliRunner

import subscape
from subscape.cli.main import cli
from subscape.datasets import planted_views


def test_updates_come_before_the_answer_and_change_nothing():
    X, _ = planted_views(150, 6, n_clusters=(3,), separation=8, random_state=0)
    seen = []
    study = subscape.explore(X, effort="quick", progress=False, on_update=seen.append)
    assert len(seen) == 3 and all(each.is_provisional for each in seen)
    to_come = [each.settings["to_come"] for each in seen]
    assert to_come[0].startswith("further searches") and "samples" in to_come[-1]
    assert len(set(to_come)) == 3
    # Of a first look nothing is claimed; then chance is asked.
    assert not seen[0].significant_views and "first look" in seen[0].verdict
    assert seen[2].significant_views[0].p_value < 0.01
    assert np.isnan(seen[2][1].stability) and not np.isnan(study[1].stability)
    assert not study.is_provisional and "to_come" not in study.settings
    alone = subscape.explore(X, effort="quick", progress=False)
    assert [view.labels.tolist() for view in study.views] == [
        view.labels.tolist() for view in alone.views
    ]
    assert study.verdict == alone.verdict


def test_the_command_says_its_first_look_and_writes_a_page_that_renews(tmp_path, monkeypatch):
    from subscape.report import page

    X, _ = planted_views(120, 5, n_clusters=(2,), separation=8, random_state=1)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    pages = []
    write = page.write_report

    def kept(study, path, **options):
        made = write(study, path, **options)
        pages.append(made.read_text(encoding="utf-8"))
        return made

    monkeypatch.setattr(page, "write_report", kept)
    command = ["explore", str(tmp_path / "t.csv"), "-o", str(tmp_path / "s"), "--effort", "quick"]
    done = CliRunner().invoke(cli, command, prog_name="subscape")
    assert done.exit_code == 0, done.output
    assert "A first look: " in done.stderr and "renews" in done.stderr
    assert len(pages) == 4
    assert all("Still to come: " in text and "reload()" in text for text in pages[:3])
    assert "Still to come" not in pages[3] and "location.reload" not in pages[3]


def test_a_page_that_cannot_be_replaced_is_written_beside(tmp_path, monkeypatch):
    from subscape.report import page

    X, _ = planted_views(120, 5, n_clusters=(2,), separation=8, random_state=1)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    write = page.write_report

    def protected(study, path, **options):
        if path.name == "report.html":
            raise PermissionError("protected")
        return write(study, path, **options)

    monkeypatch.setattr(page, "write_report", protected)
    command = ["explore", str(tmp_path / "t.csv"), "-o", str(tmp_path / "s"), "--effort", "quick"]
    done = CliRunner().invoke(cli, command, prog_name="subscape")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "s" / "report-new.html").exists() and "report-new.html" in done.output


def test_less_time_than_the_first_step_takes_gives_what_that_found(tmp_path):
    X, _ = planted_views(150, 6, n_clusters=(3,), separation=8, random_state=0)
    study = subscape.explore(X, effort="quick", time=1e-9, progress=False, folder=tmp_path / "s")
    assert study.views[0].n_clusters == 3 and study.views[0].p_value < 0.01
    assert (
        "The time was over before all was done: without further searches, samples of the rows, "
        "other ideas of a group and groups within groups." in study.verdict
    )
    # Resumed with more time nothing changes: what was decided holds.
    again = subscape.explore(
        X, effort="quick", time=1e9, progress=False, folder=tmp_path / "s", resume=True
    )
    assert again.verdict == study.verdict
    whole = subscape.explore(X, effort="quick", time=1e9, progress=False)
    assert "left_out" not in whole.settings and "time was over" not in whole.verdict

from __future__ import annotations

import re

import pytest

from subscape.report import write_figures
from subscape.testing.studies import planted_study


@pytest.mark.parametrize(
    ("format", "begin"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")]
)
def test_every_picture_is_a_file_of_its_kind(format, begin, tmp_path):
    study = planted_study(80, n_clusters=(3,), n_results=12)
    paths = write_figures(study, tmp_path / "new" / "folder", format)
    names = {path.name for path in paths}
    assert names == {
        f"{name}.{format}"
        for name in (
            "view-1-scatter", "view-1-cells", "view-1-features", "map", "distances",
        )
    }  # fmt: skip
    assert all(path.read_bytes().startswith(begin) for path in paths)


@pytest.mark.parametrize("format", ["pdf", "svg"])
def test_same_study_same_bytes(format, tmp_path):
    study = planted_study(50, n_clusters=(2,), results=())
    first = [path.read_bytes() for path in write_figures(study, tmp_path, format)]
    assert first == [path.read_bytes() for path in write_figures(study, tmp_path, format)]


def test_names_are_drawn_as_they_are(tmp_path):
    names = ("$a$", r"$\frac{$", "<script>alert(1)</script>", "x\ny", "e")
    study = planted_study(50, n_clusters=(2,), feature_names=names, untidy=True)
    for path in write_figures(study, tmp_path, "svg"):
        assert not re.search("<script", path.read_text(encoding="utf-8"))


def test_a_study_that_found_nothing_has_no_pictures(nothing, tmp_path):
    assert write_figures(nothing, tmp_path) == []


def test_unknown_format(study, tmp_path):
    with pytest.raises(ValueError, match="one of pdf, svg, png, not 'gif'"):
        write_figures(study, tmp_path, "gif")

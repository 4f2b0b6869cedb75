from __future__ import annotations

import re

import pytest

from subscape.exploration.plan import make_plan
from subscape.finders.catalogue import CATALOGUE
from subscape.plots.canvas import HUES
from subscape.report.drawings import chance_strip, direction, results_map, tree
from subscape.report.methods import citation, methods
from subscape.report.palette import VIEW_HUES, lightened, luminance, palette_css
from subscape.report.template_context import answer, origins
from subscape.testing.studies import planted_study


class TestReferences:
    @pytest.mark.parametrize("name", sorted(CATALOGUE))
    def test_every_finder_has_authors_title_and_doi(self, name):
        reference = citation(name)
        assert reference.endswith(f"doi:{CATALOGUE[name].doi}")
        assert reference.count(". ") >= 3
        assert re.search(r"(19|20)\d\d", reference)

    @pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
    def test_everything_in_the_plan_can_be_cited(self, effort):
        plan = make_plan(2000, 20, 20, effort=effort)
        finders = {entry.finder for rung in plan.rungs for entry in rung.entries}
        assert [name for name in sorted(finders) if citation(name) is None] == []

    def test_unknown(self):
        assert citation("Nobody") is None


class TestMethods:
    def test_one_number_per_paper(self):
        text, references = methods(planted_study(60))
        assert len(set(references)) == len(references)
        cited = {int(n) for n in re.findall(r"\[(\d+)\]", text)}
        assert cited == set(range(1, len(references) + 1))

    def test_failures_and_sampling_are_said(self, study):
        few = planted_study(100, failures=(("a", "b"),), searched_rows=study.searched_rows[:40])
        text = methods(few).paragraph
        assert "1 run failed" in text
        assert "the search saw 40 rows drawn at random" in text


class TestBaselines:
    def test_who_found_what(self, study):
        first, second, third = origins(study)
        assert set(first.plain) == {"KMeans", "GaussianMixture"}
        assert second.plain == third.plain == ()
        assert first.distance < 0.2 < second.distance
        assert second.closest.finder in ("KMeans", "GaussianMixture")

    def test_nothing_new(self):
        study = planted_study(60, n_clusters=(2,))
        assert answer(study).startswith("Nothing that plain clustering had not seen")

    def test_nothing_at_all(self, nothing):
        assert answer(nothing) == "No baseline has a result to compare with."


class TestDrawings:
    def test_the_map_keeps_distances_in_proportion(self, study):
        drawn = results_map(study)
        dots = {dot.result.name: dot for dot in drawn.dots}
        a, b, c = study.results[:3]
        ratios = [
            (dots[r.name].x - dots[s.name].x) / (r.x - s.x) for r, s in ((a, b), (b, c), (a, c))
        ]
        upright = (dots[a.name].y - dots[b.name].y) / (a.y - b.y)
        assert max(ratios) - min(ratios) < 1e-6 * abs(ratios[0])
        assert upright == pytest.approx(-ratios[0])
        assert all(0 <= d.x <= drawn.width and 0 <= d.y <= drawn.height for d in drawn.dots)

    def test_leaves_of_a_view_stand_together(self, study):
        views = [result.view for result in tree(study).results]
        for number in (1, 2, 3):
            places = [i for i, view in enumerate(views) if view == number]
            assert places == list(range(places[0], places[-1] + 1))

    def test_scores_on_one_scale(self, study):
        strip = chance_strip(study)
        marks = {mark.number: mark.x for mark in strip.marks}
        assert marks[1] > marks[2] > marks[3] > max(x for x, _ in strip.dots)
        assert len(strip.dots) == len(study.chance)


class TestPalette:
    def test_clusters_have_the_colours_of_all_other_pictures(self):
        css = palette_css()
        assert all(f"--k{i}:{hue};" in css for i, hue in enumerate(HUES))

    def test_colours_stay_apart_at_night(self):
        for hues in (HUES, VIEW_HUES):
            assert len({lightened(hue) for hue in hues}) == len(hues)

    def test_numbers_can_be_read_on_the_colours_of_views(self):
        for hue in VIEW_HUES:
            assert contrast(hue, "#ffffff") >= 4.5
            assert contrast(lightened(hue), "#14171a") >= 4.5


def contrast(a: str, b: str) -> float:
    """Ratio of luminances as in WCAG 2."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class TestDirections:
    def test_the_strongest_features_with_sign_and_weight(self):
        told = direction(["a", "b", "c", "d"], [0.6, -0.8, 0.01, 0.0])
        assert told == [("−", "0.80", "b"), ("+", "0.60", "a")]

    def test_a_direction_of_many_features_has_words_too(self):
        names = [f"x{j}" for j in range(400)]
        told = direction(names, [1.0] * 400)
        assert [name for _, _, name in told] == ["x0", "x1", "x2"]
        assert told[0][1] == "0.05"

    def test_none(self):
        assert direction(["a"], [0.0]) == []

"""What the page says where nothing, or not everything, can be claimed; and the levels of a view."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import re

import numpy as np
import pytest

from subscape.exploration.study import load_study, write_labels
from subscape.report import render
from subscape.report.cards import cards, unclaimed
from subscape.report.drawings import chance_strip, cluster_numbers, view_tree
from subscape.report.methods import methods
from subscape.report.template_context import answer
from subscape.testing.studies import planted_study


def words(page: str) -> str:
    """The page as it is read."""
    shown = re.sub(r"(?s)<(script|style)[^>]*>.*?</\1>", "", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


class TestNothingFound:
    """A table without groups: the page shows what was run, and agrees with study.json."""

    def test_counts_and_the_comparison_with_chance(self, noise_folder, noise_study):
        kept = json.loads((noise_folder / "study.json").read_text())
        assert not noise_study.significant_views
        assert len(kept["results"]) > 3 and len(kept["chance"]) >= 10
        page = render(noise_study)
        said = words(page)
        assert f"clusterings looked at {len(kept['results'])} " in said
        assert f"tables without groups {len(kept['chance'])} " in said
        assert f"{len(kept['results'])} clusterings that some run found" in said
        assert "did not get as far" not in said
        dots = re.search(r'(?s)<svg class="strip.*?</svg>', page)[0].count("<circle")
        assert dots == len(kept["chance"]) + len(kept["curve_chance"])

    def test_near_misses(self, noise_folder, noise_study):
        kept = json.loads((noise_folder / "study.json").read_text())
        said = words(render(noise_study))
        assert kept["near_misses"]
        part = said[said.index("What speaks against it") : said.index("All results")]
        for miss in kept["near_misses"]:
            assert miss["title"][:20] in part
            assert f"(score {miss['score']:.2f})".replace("-", "−") in part
            assert f"stability {miss['stability']:.2f}" in part
            assert "tables without groups give as clear a grouping (p = " in part

    def test_what_was_searched_and_what_would_have_been_seen(self, noise_study):
        text = noise_study.verdict
        assert noise_study.power is not None
        assert noise_study.power.words() in text
        assert noise_study.power.words() in words(render(noise_study))
        assert f"{noise_study.settings['runs']} runs of 2 finders" in text
        assert "groups of any shape" in text
        assert f"{len(noise_study.chance)} tables without groups" in text

    def test_plain_clustering_is_not_said_to_have_no_result(self, noise_study):
        assert answer(noise_study).startswith("Neither plain clustering (k-means) nor")


class TestLevels:
    def test_the_numbers_are_those_of_the_merges(self, merged_study):
        view = merged_study[1]
        drawn = view_tree(view)
        assert [level.n_clusters for level in drawn.levels] == list(view.levels)
        for level, merge in zip(drawn.levels[1:], view.merges, strict=True):
            assert (level.lost, level.p_value, level.stability) == (
                merge.lost, merge.p_value, merge.stability,
            )  # fmt: skip
        assert [level.merged for level in drawn.levels] == ["", "2 and 4", "1 and 3"]
        assert [level.n_clusters for level in drawn.levels if level.is_recommended] == [
            view.recommended
        ]
        said = words(render(merged_study))
        assert "2 and 4 0.062 0.002 0.81" in said and "1 and 3 0.438 0.003 0.94" in said

    def test_no_level_is_recommended_that_does_not_come_back(self, merged_study):
        view = merged_study[1]
        lost = tuple(dataclasses.replace(merge, stability=0.4) for merge in view.merges)
        shaky = dataclasses.replace(view, stability=0.4, merges=lost)
        assert not any(level.is_recommended for level in view_tree(shaky).levels)
        page = render(dataclasses.replace(merged_study, views=(shaky, *merged_study.views[1:])))
        assert "so none is recommended" in page

    def test_heights_are_the_nats_lost(self, merged_study):
        drawn = view_tree(merged_study[1], width=115.0)
        # 1.15 times the sum is the whole width.
        begins = [begin for begin, _, _ in drawn.bands]
        assert begins == pytest.approx([0.0, 100 * 0.0625 / 0.5, 100.0])

    def test_a_view_of_one_level_has_no_tree(self, study):
        assert view_tree(study[3]) is None
        assert "Groups within groups" not in render(study)

    def test_colours_follow_the_labels(self, merged_study):
        view = merged_study[1]
        for k in view.levels:
            numbers, hues = cluster_numbers(view, k)
            np.testing.assert_array_equal(np.array(numbers)[view.labels], view.at(k))
            assert len(hues) == k

    def test_labels_with_levels(self, merged_study):
        stream = io.BytesIO()
        write_labels(merged_study, stream, levels=True)
        head, *lines = [line.split(",") for line in stream.getvalue().decode().splitlines()]
        assert head[:5] == ["row", "view_1", "view_1_confidence", "view_1_at_3", "view_1_at_2"]
        assert head[-2] == "asked_2"
        for k in (3, 2):
            column = [int(line[head.index(f"view_1_at_{k}")]) for line in lines]
            np.testing.assert_array_equal(column, merged_study[1].at(k) + 1)
        assert lines[0][0] == "1"


class TestClaims:
    def test_clusters_that_are_not_claimed_are_pale_and_say_why(self, merged_study):
        page = render(merged_study)
        rows = cards(merged_study)[0].clusters
        assert [bool(row.against) for row in rows] == [False, False, True, True]
        assert "tables without groups have clusters as clear" in rows[2].against
        assert "dissolves on samples" in rows[3].against
        assert page.count("class=unclaimed") >= 2
        assert cards(merged_study)[0].pale == [2, 3]
        assert "2 of the 4 of view 1" in merged_study.verdict

    def test_a_view_none_of_whose_clusters_is_claimed(self, merged_study):
        view = dataclasses.replace(merged_study[1], cluster_stability=np.full(4, 0.3))
        study = dataclasses.replace(merged_study, views=(view, *merged_study.views[1:]))
        assert "No single cluster of view 1 can be claimed" in study.verdict

    def test_the_idea_and_why_not_another(self, merged_study):
        said = words(render(merged_study))
        assert "A group may have any shape here" in said
        assert "As clouds they would be 6" in said or "as clouds they would be 6" in said
        assert "Looked for as well, and nothing here fits better: groups of any shape." in said

    def test_scores_on_another_scale_are_not_drawn_beside_chance(self, merged_study):
        strip = chance_strip(merged_study)
        assert [mark.number for mark in strip.marks] == [1, 3]
        assert strip.elsewhere == [2]
        assert len(strip.dots) == len(merged_study.chance) + 2

    def test_what_speaks_for_a_candidate_and_against_it(self, merged_study):
        one = unclaimed(merged_study)[-1]
        assert one.number is None
        assert one.speaks_for == [
            "comes back in part (stability 0.61)",
            "describes the rows better than one cloud (score 0.09)",
            "told apart by rent",
        ]
        assert one.against == [
            "tables without groups give as clear a grouping (p = 0.23)",
            "explained by missing cells (75 %)",
        ]

    def test_a_fitted_tail_is_always_said(self, merged_study):
        bound = "fitted tail; none of 40 tables without groups came as far"
        assert bound in repr(merged_study[1])
        assert f"({bound})" in words(render(merged_study))
        assert "Gumbel" in methods(merged_study).paragraph
        only = dataclasses.replace(
            merged_study, views=merged_study.views[:1], between_views=np.ones((1, 1))
        )
        assert bound in only.verdict

    def test_a_fitted_tail_has_its_interval_everywhere(self, merged_study, tmp_path):
        views = tuple(
            dataclasses.replace(view, p_interval=(2e-7, 0.0021)) for view in merged_study.views
        )
        study = dataclasses.replace(merged_study, views=views)
        within = "fitted tail, 95 % interval up to 0.0021"
        assert within in repr(study[1])
        assert within in words(render(study))
        assert within in methods(study).paragraph
        assert "test of that tail's shape" in methods(study).paragraph
        study.save(tmp_path)
        assert load_study(tmp_path)[1].p_interval == (2e-7, 0.0021)

    def test_a_cluster_and_a_level_have_their_intervals_beside_their_p(self, merged_study):
        first = merged_study.views[0]
        told = (None,) * (first.n_clusters - 1) + ((0.0002, 0.0043),)
        merges = (
            dataclasses.replace(first.merges[0], p_interval=(3e-7, 0.0057)),
            *first.merges[1:],
        )
        view = dataclasses.replace(first, cluster_p_intervals=told, merges=merges)
        study = dataclasses.replace(merged_study, views=(view, *merged_study.views[1:]))
        page = words(render(study))
        assert page.count("0.0002 to 0.0043") == 1 and page.count("(up to 0.0057)") == 1
        assert "0.0043" not in words(render(merged_study))

    def test_what_was_asked_for_is_marked(self, merged_study):
        said = words(render(merged_study))
        assert "not claimed: 2 groups because somebody asked for so many" in said
        assert "Three ways to group the rows" in said


class TestOtherFinders:
    def test_only_who_found_it_is_said_to_have(self):
        study = planted_study(60, n_clusters=(2,))
        results = tuple(
            dataclasses.replace(r, view=0) if r.finder == "GaussianMixture" else r
            for r in study.results
        )
        text = answer(dataclasses.replace(study, results=results))
        assert "k-means, in all features at once, found this grouping too" in text
        assert "mixture did not" in text


def test_the_tree_of_a_view_leaves_room_for_what_stands_behind_it(merged_study):
    drawn = view_tree(merged_study[1])
    assert drawn.width == 300.0 and drawn.height == 20.0 * merged_study[1].n_clusters
    assert [y for y, _ in drawn.leaves] == [10.0 + 20 * i for i in range(len(drawn.leaves))]
    ends = [float(x) for path in drawn.paths for x in re.findall(r"H([0-9.]+)V", path)]
    assert max(ends) == pytest.approx(300 / 1.15, abs=0.06)


def test_a_branch_begins_in_the_middle_of_what_it_merged(merged_study):
    view = merged_study[1]
    merges = tuple(
        dataclasses.replace(view.merges[0], first=a, second=b, n_clusters=n, lost=lost)
        for a, b, n, lost in ((0, 1, 3, 0.1), (0, 2, 2, 0.2))
    )
    drawn = view_tree(dataclasses.replace(view, merges=merges), width=115.0)
    height = {k: y for y, k in drawn.leaves}
    first, second, *_ = (re.findall(r"[0-9.]+", path) for path in drawn.paths)
    assert [float(first[1]), float(first[3])] == [height[0], height[1]]
    assert float(second[1]) == pytest.approx((height[0] + height[1]) / 2)
    assert float(second[3]) == height[2]

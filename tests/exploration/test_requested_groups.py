"""As many groups as somebody asks for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from subscape.exploration.levels import Merge
from subscape.exploration.requested_groups import with_asked
from subscape.exploration.study import load_study

from .conftest import small_job


@pytest.fixture(scope="module")
def finished():
    job = small_job(np.random.default_rng(7).normal(size=(90, 4)))
    return job, job.run()


def test_where_there_are_no_groups_the_finders_are_asked_for_that_many(finished, tmp_path):
    job, study = finished
    assert not study.significant_views
    given = with_asked(job, study, 5)
    assert given.asked.n_clusters == 5
    assert given.views == study.views and given.verdict == study.verdict
    assert "5 clusters, by " in given.asked.idea_note
    assert given.asked.number == len(study.views) + 1
    again = load_study(given.save(tmp_path / "s"))
    np.testing.assert_array_equal(again.asked.labels, given.asked.labels)
    head = (tmp_path / "s" / "labels.csv").read_text().splitlines()[0]
    assert head.endswith("asked_5,asked_5_confidence")


def test_the_first_view_is_cut_where_it_has_that_level(study, planted):
    job = small_job(planted.X)
    job.chance = None
    first = study[1]
    tree = (Merge(0, 2, 0.3, 2),)
    cut = dataclasses.replace(study, views=(dataclasses.replace(first, merges=tree),))
    asked = with_asked(job, cut, 2).asked
    assert asked.idea_note == "view 1, merged until 2 are left"
    np.testing.assert_array_equal(asked.labels, cut[1].at(2))
    assert np.isnan(asked.p_value)


@pytest.mark.parametrize("number", [1, 46])
def test_numbers_that_cannot_be_had(finished, number):
    with pytest.raises(ValueError, match="ask for 2 to 45"):
        with_asked(*finished, number)

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies import any_clustering

from subscape import SubspaceClustering, load, save
from subscape.core.errors import ShapeMismatchError
from subscape.ensemble import Ensemble
from subscape.finders import LAC


def labels(*values, p=3, **names):
    return SubspaceClustering.from_labels(values, n_features=p, **names)


def test_it_is_a_sequence_that_grows():
    a, b = labels(0, 0, 1), labels(0, 1, 1)
    ensemble = Ensemble([a])
    ensemble.append(b)
    ensemble.extend([[0, 0, 0], a])
    assert len(ensemble) == 4
    assert ensemble[1] == b and ensemble[-1] == a and list(ensemble)[1] == b
    assert ensemble[2].n_features == 3  # labels take the members' features
    assert isinstance(ensemble[1:3], Ensemble) and len(ensemble[1:3]) == 2
    assert ensemble.total_clusters == 7
    both = ensemble + Ensemble([b])
    assert isinstance(both, Ensemble) and len(both) == 5 and len(ensemble) == 4
    assert ensemble != Ensemble([a, b])


def test_fitted_finders_are_members(planted):
    finder = LAC(3, n_init=1, random_state=0).fit(planted[0])
    ensemble = Ensemble([[0] * 240, finder])
    assert ensemble[1] == finder.clustering_
    assert ensemble.n_features == 8


def test_saved_and_loaded_whatever_the_kinds(tmp_path):
    rng = np.random.default_rng(0)
    ensemble = Ensemble([any_clustering(rng, (8, 4)) for _ in range(12)], metadata={"seed": 3})
    assert ensemble.is_oriented
    path = ensemble.save(tmp_path / "e.subscape")
    again = Ensemble.load(path)
    assert again == ensemble and again.metadata == {"seed": 3}
    assert load(path)[3] == ensemble[3]
    with pytest.raises(FileExistsError):
        ensemble.save(path)
    assert len(Ensemble.load(save(tmp_path / "one.subscape", ensemble[0]))) == 1


def test_members_over_other_rows_or_features_are_refused():
    ensemble = Ensemble([labels(0, 0, 1)])
    for other, text in (
        (labels(0, 1), "member 1 is over 2 rows, the first member over 3"),
        (labels(0, 0, 1, p=2), "member 1 is over 2 features, the first member over 3"),
        (labels(-1, -1, -1), "member 1 has no clusters"),
    ):
        with pytest.raises(ValueError, match=text):
            ensemble.append(other)
        with pytest.raises(ValueError, match=text):
            Ensemble([labels(0, 0, 1), other])
    assert len(ensemble) == 1
    with pytest.raises(ShapeMismatchError, match="2 entries"):
        ensemble.append([0, 1])


def test_names_must_agree():
    a = labels(0, 0, 1, feature_names=["x", "y", "z"])
    ensemble = Ensemble([a, labels(0, 1, 1)])
    assert ensemble.names["feature_names"] == ("x", "y", "z")
    with pytest.raises(ShapeMismatchError, match="not in both: 'w', 'z'"):
        ensemble.append(labels(0, 0, 1, feature_names=["x", "y", "w"]))
    with pytest.raises(ShapeMismatchError, match="another order"):
        ensemble.append(labels(0, 0, 1, feature_names=["y", "x", "z"]))


def test_nothing_is_added_if_one_does_not_fit():
    ensemble = Ensemble([labels(0, 0, 1)])
    with pytest.raises(ValueError):
        ensemble.extend([labels(0, 1, 1), labels(0, 1)])
    assert len(ensemble) == 1


def test_an_empty_ensemble_says_so():
    assert repr(Ensemble()) == "Ensemble(0 members)"
    with pytest.raises(ValueError, match="empty"):
        Ensemble.of([])
    with pytest.raises(ValueError, match="empty"):
        _ = Ensemble().n_rows

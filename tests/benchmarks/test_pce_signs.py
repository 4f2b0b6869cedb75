from __future__ import annotations

import numpy as np
import pytest
from pce_causes import UNEXPLAINED, differences, explained
from pce_ensembles import ONE, PCE, SIDES, Judge, by_posterior, literal, picked, projective
from pce_paper import ERRATUM
from pce_signs import signs
from pce_tables import PAPER_THETA, PRINTED, printed
from scipy.special import xlogy

from subscape import SubspaceClustering
from subscape.datasets import planted_axes
from subscape.ensemble import generate
from subscape.finders import LAC


def record(change=None, checks=None):
    """An ensemble of Iris whose figures are the printed ones but for these."""
    figures = {
        method: {
            part: {side: printed(part, "Iris", method, side) for side in SIDES} for part in PRINTED
        }
        for method in PCE
    }
    for method in PCE:
        figures[method]["upsilon"]["f literal"] = 5.0 if method == "MOEA" else 0.5
    for (method, part, side), value in (change or {}).items():
        figures[method][part][side] = value
    return {
        "methods": {method: [figure] for method, figure in figures.items()},
        "checks": checks or {},
        "self f": 0.3,
        "sharper": {"0.02": dict.fromkeys(("self", *PCE), 0.1)},
    }


def test_printed_figures_have_no_other_sign():
    assert not [c for part in PRINTED for c in differences({"Iris": [record()]}, part)]


def test_a_figure_within_its_spread_is_chance():
    results = {"Iris": [record({("CB", "theta", "o"): v}) for v in (-0.09, 0.06, -0.03)]}
    (cell,) = differences(results, "theta")
    assert (cell.method, cell.side, cell.number) == ("CB", "o", 3)
    assert cell.error == pytest.approx(0.0755 / np.sqrt(3), abs=1e-3)
    assert explained(results, [cell])["chance"][0][0] == cell


@pytest.mark.parametrize(
    ("what", "value", "cause"),
    [
        ("much softer members", 0.2, "how soft the members are"),
        ("much softer members", -0.2, UNEXPLAINED),
        ("rows shared", 0.2, UNEXPLAINED),
    ],
)
def test_a_cause_must_give_the_printed_sign(what, value, cause):
    figure = {"CB": {"theta": {"o": value, "of": value}}}
    results = {"Iris": [record({("CB", "theta", "o"): v}, {what: figure}) for v in (-0.2, -0.21)]}
    found = explained(results, list(differences(results, "theta")))
    assert [title for title, cells in found.items() if cells] == [cause]


def test_shared_rows_explain_resemblance_in_part():
    figure = {"CB": {"theta": {"of": -0.1}, "upsilon": {"of": 0.9}}}
    change = {("CB", "upsilon", "of"): 1.1}
    results = {"Iris": [record(change, {"rows shared": figure}) for _ in range(2)]}
    found = explained(results, list(differences(results, "upsilon")))
    assert list(found) == ["in part: rows go to one cluster"]
    assert found["in part: rows go to one cluster"][0][1].endswith("Theta_of is -0.100")


def test_a_change_that_breaks_as_much_as_it_mends_explains_in_part():
    softer = {"CB": {"theta": {"o": 0.2}}, "EM": {"theta": {"o": -0.1}}}
    change = {("CB", "theta", "o"): -0.2}
    results = {"Iris": [record(change, {"much softer members": softer}) for _ in range(2)]}
    found = explained(results, list(differences(results, "theta")))
    assert list(found) == ["in part: how soft the members are"]


def test_without_the_printed_sign_a_cause_explains_only_in_part():
    # Weights of one member take most of the difference away, but the sign stays.
    figure = {"MOEA": {"upsilon": {"f": 2.0}}}
    for value, title in ((2.0, "in part: weights are averaged"), (0.5, "weights are averaged")):
        figure["MOEA"]["upsilon"]["f"] = value
        change = {("MOEA", "upsilon", "f"): 9.0 if value > 1 else 3.0}
        results = {"Iris": [record(change, {ONE: figure}) for _ in range(2)]}
        cells = [c for c in differences(results, "upsilon") if c.method == "MOEA"]
        found = explained(results, cells)
        assert list(found) == [title], (value, found)
    flat = [record({("CB", "theta", "f"): -0.2}) | {"self f": 0.001} for _ in range(2)]
    cells = [c for c in differences({"Iris": flat}, "theta") if c.side == "f"]
    assert list(explained({"Iris": flat}, cells)) == ["in part: no features to find"]


def test_the_printed_mean_of_fcb_is_not_that_of_its_rows():
    rows = [printed("theta", name, "FCB", "f") for name in PAPER_THETA]
    assert round(float(np.mean(rows)), 3) == 0.115
    assert "0.122" in ERRATUM and "0.115" in ERRATUM


def test_the_page_counts_every_difference_once():
    change = {("CB", "theta", "o"): -0.2, ("MOEA", "upsilon", "f"): 3.0}
    lines = signs({"Iris": [record(change), record(change)]})
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| ")]
    table = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert table["all"] == ["0", "1", "0", "0", "0", "1", "2"]
    assert table[UNEXPLAINED] == ["0", "1", "0", "0", "0", "1", "2"]


@pytest.fixture(scope="module")
def judge():
    X, truth = planted_axes(120, 6, n_clusters=3, dims=3, random_state=0)
    members = list(generate(X, LAC(3, n_init=1, init="random"), 12, random_state=0))
    goal = SubspaceClustering(truth.members, truth.as_weighted().subspaces)
    return X, Judge(members, goal)


def test_the_literal_reading_by_its_definition(judge):
    _, given = judge
    a, b = given.members[:2]
    shared = a.as_weighted().subspaces.relevance @ b.as_weighted().subspaces.relevance.T
    shared /= shared.sum()
    p, k = a.n_features, a.n_clusters
    entropy = k / p * np.log(p)
    expected = (shared * np.log(p**2 * shared)).sum() / entropy
    found = literal(given.pairs["f"][0, 1], np.array(k), np.array(k), p)
    assert xlogy(shared, shared).sum() < 0
    assert found == pytest.approx(expected)


def test_a_mean_of_weights_has_less_information_than_those_of_single_members(judge):
    X, given = judge
    made = {name: e.fit(given.members, X).clustering_ for name, e in projective(3, 0, 1).items()}
    found = picked(given, {name: made[name] for name in ("EM", "CB", "FCB")}, 0)
    for name, figures in found.items():
        (own,) = given.figures([made[name]])
        assert figures["nmi"]["o"] == pytest.approx(own["nmi"]["o"])
        assert figures["upsilon"]["f"] > own["upsilon"]["f"]


def test_the_posterior_is_softer_and_leaves_hard_members_alone(judge):
    X, given = judge
    for before, after in zip(given.members, by_posterior(X, given.members), strict=True):
        if before.is_hard:
            assert after is before
        else:
            shares = after.memberships.toarray()
            np.testing.assert_allclose(shares.sum(axis=0), 1, atol=1e-5)
            assert shares.max(axis=0).mean() < before.memberships.toarray().max(axis=0).mean()
            assert after.subspaces is before.subspaces or after.subspaces == before.subspaces

from __future__ import annotations

import json

import pytest
import ratios
from ratios import Goal, NotComparable, Ratio, Side, record

WORK = {"rows": 1000, "columns": 50, "clusters": 5, "iterations": 10, "precision": "float64"}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(ratios, "RESULTS", tmp_path)
    return tmp_path


def test_a_ratio_of_equal_work_is_a_number():
    ratio = Ratio(Side("ours", 2.0, WORK), Side("theirs", 30.0, dict(WORK)))
    assert ratio.is_comparable
    assert ratio.value == 15.0
    assert str(ratio) == "15.00"
    assert ratio.inverse().value == pytest.approx(1 / 15)
    assert ratio.inverse().inverse().value == 15.0


@pytest.mark.parametrize("key", WORK)
def test_a_ratio_of_different_work_is_refused(key):
    ratio = Ratio(Side("ours", 2.0, WORK), Side("theirs", 30.0, WORK | {key: "other"}))
    assert not ratio.is_comparable
    assert str(ratio) == f"not comparable: {key} {WORK[key]} and other"
    with pytest.raises(NotComparable, match=key):
        ratio.value  # noqa: B018
    with pytest.raises(NotComparable, match=key):
        ratio.inverse().value  # noqa: B018


def test_what_one_side_does_not_say_is_different():
    less = {key: value for key, value in WORK.items() if key != "precision"}
    assert str(Ratio(Side("ours", 1.0, WORK), Side("theirs", 2.0, less))) == (
        "not comparable: precision float64 and not said"
    )
    assert "nothing is said about the work of theirs" in str(
        Ratio(Side("ours", 1.0, WORK), Side("theirs", 2.0))
    )


@pytest.mark.parametrize(
    "ours, theirs, comparable",
    [
        (0.0, 0.1, True), (0.1, 0.1, True), (0.2, 0.1, False), (None, 0.1, False),
        (0.1, None, False),
        # The same in the digits that a page has of it; and not.
        (0.9614, 0.9606, True), (0.9616, 0.9614, False),
    ],
)  # fmt: skip
def test_the_faster_side_must_not_be_the_worse_one(ours, theirs, comparable):
    ratio = Ratio(Side("ours", 1.0, WORK, ours), Side("theirs", 2.0, WORK, theirs))
    assert ratio.is_comparable is comparable


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_a_side_that_did_not_end_has_no_ratio(seconds):
    assert not Ratio(Side("ours", 1.0, WORK), Side("theirs", seconds, WORK)).is_comparable


def test_goals():
    assert Goal.of("<= 1.5").is_met(1.5)
    assert not Goal.of("<= 1.5").is_met(1.6)
    assert Goal.of(">= 20").is_met(20)
    assert not Goal.of(">= 20").is_met(19.9)
    assert not Goal.of(">= 20").is_met(float("nan"))
    with pytest.raises(ValueError, match="begins with"):
        Goal.of("about 3")


def test_records_are_kept_and_small_ones_never_replace_full_ones(results):
    ratio = Ratio(Side("ours", 2.0, WORK), Side("theirs", 30.0, WORK))
    record("bench", "a", ratio, quick=True)
    record("bench", "b", 7.0, work={"rows": 3})
    known = json.loads((results / "bench.json").read_text())
    assert known["a"]["value"] == 15.0 and known["a"]["quick"]
    assert known["a"]["work"] == WORK
    assert known["b"]["value"] == 7.0 and not known["b"]["quick"]
    assert all(known["b"][name] for name in ("when", "machine", "versions"))
    record("bench", "a", 16.0)
    record("bench", "a", 99.0, quick=True)
    assert json.loads((results / "bench.json").read_text())["a"]["value"] == 16.0


def test_a_refused_ratio_is_recorded_without_a_number(results):
    record("bench", "a", Ratio(Side("ours", 2.0, WORK), Side("theirs", 3.0, WORK | {"rows": 1})))
    known = json.loads((results / "bench.json").read_text())["a"]
    assert known["value"] is None
    assert known["note"] == "not comparable: rows 1000 and 1"


def test_every_peer_is_named_with_its_version_or_as_missing():
    found = ratios.peers()
    assert set(found) == {*ratios.PEERS, "ELKI"}
    assert found["scikit-learn"][0].isdigit()
    assert ratios.versions(("no-such-package",)) == {"Python": ratios.versions(())["Python"]}

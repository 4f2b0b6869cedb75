"""Numbers that say nothing, or that compiled code can't hold, for everything in the catalogue."""

from __future__ import annotations

import time
import warnings
from numbers import Integral

import numpy as np
import pytest
from sklearn.utils._param_validation import Interval

from subscape.finders import DOC, LAC, FastDOC, MineClus
from subscape.finders.catalogue import CATALOGUE
from subscape.parallel.progress import Watch, best_few_of, best_of
from subscape.parallel.seeds import child_seed, seed_sequence
from subscape.testing.finders import example_table

X = example_table(60, 6)
ROWS = np.arange(60)
OWN = {name: entry for name, entry in CATALOGUE.items() if entry.role != "baseline"}


def integers(cls):
    """Parameters that take whole numbers."""
    for name, allowed in cls._parameter_constraints.items():
        whole = [one for one in allowed if isinstance(one, Interval) and one.type is Integral]
        if whole or Integral in allowed or name == "random_state":
            yield name


CASES = [(name, each) for name, entry in OWN.items() for each in integers(entry.load())]


def fit(entry, **parameters):
    finder = entry.load()(**parameters)
    if entry.role == "consensus":
        return finder.fit([ROWS % 3, ROWS % 2, ROWS // 20], X)
    return finder.fit(X, given=ROWS % 3) if entry.role == "alternative" else finder.fit(X)


@pytest.mark.parametrize("huge", [10**30, -(10**30)])
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_c_cannot_hold_is_refused_before_any_work(name, parameter, huge):
    with pytest.raises(ValueError, match=parameter) as caught:
        fit(OWN[name], **{parameter: huge})
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("name", [name for name, each in CASES if each == "n_jobs"])
def test_no_jobs_are_refused_in_our_words(name):
    with pytest.raises(ValueError, match="n_jobs=0 says nothing; give a number of jobs from 1 on"):
        fit(OWN[name], n_jobs=0)


def test_there_are_many_cases():
    assert len(CASES) > 100


# -- seeds and restarts ---------------------------------------------------------------------------


def test_seeds_that_files_cannot_hold_are_refused():
    with pytest.raises(ValueError, match=r"at most 2\*\*63 - 1"):
        seed_sequence(10**30)
    assert seed_sequence(2**63 - 1).entropy == 2**63 - 1


def test_children_are_those_of_spawn():
    seed = np.random.SeedSequence(5)
    seed.spawn(2)
    later = [child_seed(seed, place).generate_state(2) for place in range(3)]
    np.testing.assert_array_equal(later, [child.generate_state(2) for child in seed.spawn(3)])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_binds_whatever_the_number_of_restarts(n_jobs):
    began = time.monotonic()
    with pytest.warns(UserWarning, match="max_time"):
        LAC(n_clusters=2, n_init=10**6, max_time=0.5, n_jobs=n_jobs, random_state=0).fit(X)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_restarts_differ_and_the_best_one_wins(n_jobs):
    seen = []

    def once(child):
        number = int(child.generate_state(1)[0])
        seen.append(number)
        return number

    seed = np.random.SeedSequence(3)
    best = best_of(once, 20, seed, Watch(), n_jobs, key=lambda number: number % 1000)
    expected = [int(c.generate_state(1)[0]) for c in np.random.SeedSequence(3).spawn(20)]
    assert sorted(seen) == sorted(expected) and len(set(seen)) == 20
    assert best == min(expected, key=lambda number: number % 1000)
    assert best not in (expected[0], expected[-1])


def test_ties_go_to_the_earlier_start():
    states = [c.generate_state(1)[0] for c in np.random.SeedSequence(0).spawn(5)]
    found = best_of(lambda c: c.generate_state(1)[0], 5, np.random.SeedSequence(0), Watch(),
                    key=lambda _: 0)  # fmt: skip
    assert found == states[0]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_best_few_starts_in_their_order(n_jobs):
    states = [int(c.generate_state(1)[0]) for c in np.random.SeedSequence(0).spawn(30)]
    by_digit: dict[int, int] = {}
    for state in states:
        by_digit.setdefault(state % 10, state)  # of those with the same key the first
    found = best_few_of(
        lambda c: int(c.generate_state(1)[0]), 30, np.random.SeedSequence(0), Watch(), n_jobs,
        lambda number: number % 10, 4,
    )  # fmt: skip
    assert found == [by_digit[digit] for digit in sorted(by_digit)[:4]]


# -- odd tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", [DOC(), FastDOC(), MineClus()])
def test_a_table_without_any_value_is_refused(finder):
    with pytest.raises(ValueError, match="no cell of the 30 x 4 table holds a value"):
        finder.fit(np.full((30, 4), np.nan))


@pytest.mark.parametrize("name", ["CASH", "COPAC", "ERiC", "LMCLUS"])
@pytest.mark.parametrize("rows", [([0, 0, 0, 0], [5, 3, 1, 2]), ([1, 1, 1, 1], [9, 9, 1, 1])])
def test_two_repeated_rows_are_two_clusters(name, rows):
    table = np.repeat(np.array(rows, dtype=float), (12, 30), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = OWN[name].load()().fit(table).labels_
    assert len(set(labels[:12])) == len(set(labels[12:])) == 1
    assert labels[0] != labels[-1] and labels.min() >= 0


@pytest.mark.parametrize("number", [2**63, -(2**63), 2**64 - 1])
def test_the_first_integer_that_c_cannot_hold_is_refused(number):
    with pytest.raises(ValueError, match="n_init"):
        LAC(n_clusters=2, n_init=number, max_time=0.01).fit(example_table())

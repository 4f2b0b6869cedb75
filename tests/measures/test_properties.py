"""Table 4.1 of the thesis as tests, generated from the registry.

A property that a measure claims is tried on random clusterings of every kind that it scores; one
that it lacks has its counterexample.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measures.counterexamples import CAVEATS, COUNTEREXAMPLES
from tests.measures.properties import BREAKS, Distance, random_arguments, random_clustering
from tests.strategies import any_clustering, seeds, shapes

from subscape.measures import clustering_error, rnia
from subscape.measures.registry import KINDS, MEASURES, PROPERTIES, find

CLAIMED = [
    (name, p) for name, entry in MEASURES.items() for p in PROPERTIES if p in entry.properties
]
LACKING = [(name, p) for name, entry in MEASURES.items() for p in entry.lacks]
#: Twenty decision trees per comparison.
SLOW = {"object_accuracy_score"}


@pytest.mark.parametrize(("name", "prop"), CLAIMED)
def test_claimed_property_holds(name, prop):
    entry = find(name)
    tries = settings().max_examples // 2

    @settings(max_examples=tries // 3 if name in SLOW else tries)
    @given(seeds, st.sampled_from(sorted(entry.kinds)))
    def holds(seed, kind):
        arguments = random_arguments(prop, np.random.default_rng(seed), kind, entry)
        assert not BREAKS[prop](Distance(entry, kind), *arguments), (kind, arguments)

    holds()


@pytest.mark.parametrize(("name", "prop"), LACKING)
def test_lacking_property_has_a_counterexample(name, prop):
    assert (name, prop) in COUNTEREXAMPLES, "give one in tests/measures/counterexamples.py"
    assert BREAKS[prop](Distance(find(name)), *COUNTEREXAMPLES[name, prop])


def test_there_are_no_counterexamples_to_claims():
    assert set(COUNTEREXAMPLES) == set(LACKING)


@pytest.mark.parametrize("case", [(m.name, p) for m in MEASURES.values() for p in m.caveats])
def test_caveats_are_real(case):
    assert CAVEATS[case]


def test_caveats_belong_to_properties_that_the_measure_has():
    stated = {(entry.name, prop) for entry in MEASURES.values() for prop in entry.caveats}
    assert stated == set(CAVEATS) <= set(CLAIMED)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_registry_entry_is_sound(name):
    entry = MEASURES[name]
    assert entry.properties <= set(PROPERTIES) and entry.kinds <= set(KINDS)
    assert entry.on in ("cells", "rows") and entry.low < entry.high
    assert entry.is_distance == (not name.endswith("_score"))
    assert entry.function.__name__ == name and entry.sentence
    assert set(entry.lacks) == set(PROPERTIES) - entry.properties


@given(seeds, st.sampled_from([n for n in sorted(MEASURES) if n not in SLOW]), st.data())
def test_values_stay_in_the_stated_range(seed, name, data):
    entry = find(name)
    kind = data.draw(st.sampled_from(sorted(entry.kinds)))
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(2, 9)), int(rng.integers(2, 6)))
    a, b = (random_clustering(rng, shape, kind, entry) for _ in range(2))
    value = entry.function(a, b, **Distance(entry, kind).options)
    assert type(value) is float
    assert entry.low - 1e-12 <= value <= entry.high + 1e-12


# -- the trace variants, beyond the thesis --------------------------------------------------------


@given(seeds, shapes, st.sampled_from(["cells", "unit"]), st.sampled_from([clustering_error, rnia]))
def test_trace_obeys_the_triangle_inequality_across_all_kinds(seed, shape, mass, measure):
    rng = np.random.default_rng(seed)
    a, b, c = (any_clustering(rng, shape) for _ in range(3))
    ab, bc, ac = (measure(*pair, overlap="trace", mass=mass) for pair in ((a, b), (b, c), (a, c)))
    assert ac <= ab + bc + 1e-9


@given(seeds, shapes, st.sampled_from(["cells", "unit"]))
def test_clustering_error_is_never_below_rnia(seed, shape, mass):
    rng = np.random.default_rng(seed)
    a, b = (any_clustering(rng, shape) for _ in range(2))
    errors = {m: m(a, b, overlap="trace", mass=mass) for m in (clustering_error, rnia)}
    assert errors[clustering_error] >= errors[rnia] - 1e-9

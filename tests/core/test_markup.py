"""Results in notebooks: all text escaped, nothing that runs, every result has one."""

from html.parser import HTMLParser

import numpy as np
import pytest

from subscape import Table, describe
from subscape.core import SubspaceClustering
from subscape.core.markup import card, fields_card, plain
from subscape.datasets import planted_axes
from subscape.ensemble import Ensemble, agreement, consensus_rows
from subscape.finders import KFlats
from subscape.measures import DensityProfile, description_length, dq_measure, p_value, sre
from subscape.runs import Task, run_all
from subscape.testing.studies import empty_study, planted_study
from subscape.validation import (
    choose,
    cluster_stability,
    figure_of_merit,
    gap_statistic,
    replicate,
    resampling_stability,
    significance,
)

EVIL = "</td></script><img src=x onerror=alert(1)>&'\"{{7*7}}"


class Reader(HTMLParser):
    """Collects tags, attributes and text, and sees that tags are closed in order."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = set(), set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(attrs)
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def close(self):
        super().close()
        assert not self._open


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


ALLOWED = {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "p", "ul", "li"}


def check(html):
    found = read(html)
    assert found.tags <= ALLOWED
    # No colours: those of the notebook are right in the light and in the dark.
    assert found.attributes <= {("style", "text-align:left")}
    return "".join(found.text)


@pytest.fixture(scope="module")
def data():
    X, truth = planted_axes(90, 6, n_clusters=2, dims=3, random_state=0)
    return X, truth.with_names(feature_names=[*"ab", EVIL, *"def"])


def results(X, truth):
    finder = KFlats(n_clusters=2, n_init=1, random_state=0)
    yield truth
    yield Table.from_array(X, feature_names=truth.feature_names)
    yield describe(X, truth)
    yield from run_all([Task(finder, X, seed=0)])
    yield choose(finder, X, {"n_clusters": [2, 3]}, by="description_length", random_state=0)
    curve = resampling_stability(finder, X, {"n_clusters": [2, 3]}, n_samples=4, random_state=0)
    yield curve
    yield cluster_stability(truth, [truth, truth])
    yield significance(finder, X, n_null=5, random_state=0)
    yield replicate(finder, X, n_splits=1, random_state=0)
    yield gap_statistic(finder, X, [1, 2], n_null=2, random_state=0)
    yield figure_of_merit(finder, X)
    yield sre(X, truth)
    yield description_length(X, truth)
    yield p_value("clustering_error", truth, truth, n_samples=20, random_state=0)
    yield DensityProfile.of(Table.from_array(X, feature_names=truth.feature_names), truth.labels())
    members = Ensemble([truth, truth])
    yield members
    yield agreement(truth, members)
    yield consensus_rows([truth, truth], 2, random_state=0)
    yield dq_measure(X, truth.labels(), X[:, 0] > 0)


def test_every_result_shows_itself_safely(data):
    for result in results(*data):
        text = check(result._repr_html_())
        assert type(result).__name__ in text
        assert len(text) > len(type(result).__name__) + 5


def test_studies_and_views():
    named = planted_study(60, feature_names=(EVIL, *"bcdefghi"))
    for study in (named, empty_study()):
        check_study(study)


def check_study(study):
    assert study.verdict in check(study._repr_html_())
    for view in study.views:
        text = check(view._repr_html_())
        assert EVIL[:40] in text or EVIL not in view.telling_features()


def test_names_are_shown_as_they_are(data):
    _, truth = data
    assert EVIL in check(truth._repr_html_())


def test_long_tables_and_long_cells_are_cut():
    html = card("T", "", ["n", "name"], [[i, "x" * 1000] for i in range(50)])
    text = check(html)
    assert html.count("<tr>") == 21
    assert "… and 30 more lines" in text
    assert "x" * 150 in text and "x" * 250 not in text
    many = SubspaceClustering.from_labels(np.arange(25), n_features=2)
    assert "… and 5 more clusters" in check(many._repr_html_())


def test_values():
    assert [plain(v) for v in (np.int64(3), np.float32(0.5), np.inf, -np.inf, np.bool_(False))] == [
        "3", "0.5", "∞", "−∞", "no",
    ]  # fmt: skip
    assert plain((1, "a")) == "(1, 'a')"


def test_arrays_in_named_tuples_are_told_by_their_shape(data):
    assert "array of 2" in check(fields_card(sre(*data)))

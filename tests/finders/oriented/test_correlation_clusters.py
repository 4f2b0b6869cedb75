"""4C, COPAC, LMCLUS and CASH on planted flats: rows, dimensions and orientation."""

import pytest

from subscape.datasets import planted_oriented
from subscape.finders import CASH, COPAC, LMCLUS, FourC
from subscape.measures import clustering_error

FINDERS = [FourC(), COPAC(), LMCLUS(random_state=0), CASH()]


@pytest.mark.parametrize("finder", FINDERS, ids=lambda f: type(f).__name__)
def test_a_line_and_a_plane_with_noise(finder):
    X, truth = planted_oriented(3, ((1, 200), (2, 300)), noise=0.1, random_state=0)
    finder.fit(X)
    assert sorted(finder.flat_dims_.tolist()) == [1, 2]
    assert clustering_error(finder.clustering_.rows_only(), truth.rows_only()) < 0.05
    assert clustering_error(finder.clustering_, truth) < 0.05


@pytest.mark.parametrize("finder", FINDERS[:3], ids=lambda f: type(f).__name__)
def test_planes_in_ten_dimensions(finder):
    X, truth = planted_oriented(10, ((2, 150),) * 3, noise=0.1, random_state=1)
    finder.fit(X)
    assert finder.flat_dims_.tolist() == [2, 2, 2]
    assert finder.clustering_.subspaces.dims.tolist() == [8, 8, 8]
    assert clustering_error(finder.clustering_, truth) < 0.02

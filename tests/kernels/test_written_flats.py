"""How much rows near a flat gain: both versions, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import entr

from subscape.finders.selfexpression.written_flats import LEVELS, folded, gains_of_flats


def rows_and_flats(seed, c, n, p, s):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p))
    bases = np.linalg.qr(rng.normal(size=(c, p, s)))[0]
    rows[: n // 2] = rows[: n // 2] @ bases[0] @ bases[0].T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    own = (rng.random((c, n)) < 0.1).astype(np.uint8)
    free = (rng.random(n) < 0.8).astype(np.uint8)
    return rows @ bases, own, free, p


def by_hand(places, own, free, p):
    c, _, s = places.shape
    gains = np.empty((c, s))
    for flat in range(c):
        for d in range(1, s + 1):
            away = 1.0 - np.square(places[flat, :, :d]).sum(axis=1)
            away = np.maximum(away, 2.0**-LEVELS)
            usual = np.log(away[own[flat] == 0].mean())
            inside = away[(own[flat] == 0) & (free == 1)]
            found = []
            for level in range(LEVELS + 1):
                near = inside[inside < 2.0**-level] if level else inside
                if len(near):
                    share = len(near) / len(inside)
                    price = len(inside) * (entr(share) + entr(1 - share))
                    gain = (p - d) * len(near) * (usual - np.log(near.mean()))
                    found.append(gain - 2 * price)
                else:
                    found.append(0.0)
            gains[flat, d - 1] = max(found)
    return gains


@pytest.mark.parametrize(("c", "n", "p", "s"), [(5, 40, 6, 4), (3, 7, 3, 2), (1, 1, 2, 1)])
@pytest.mark.parametrize("seed", range(5))
def test_twins_agree(c, n, p, s, seed):
    table = rows_and_flats(seed, c, n, p, s)
    gains, levels = gains_of_flats(*table)
    other_gains, other_levels = gains_of_flats.reference(*table)
    np.testing.assert_allclose(gains, other_gains, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(levels, other_levels)


@pytest.mark.parametrize("seed", range(5))
def test_gains_by_hand(seed):
    table = rows_and_flats(seed, 4, 50, 5, 3)
    np.testing.assert_allclose(gains_of_flats(*table)[0], by_hand(*table), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_folded_places_have_the_length_of_the_first(dim):
    places = rows_and_flats(0, 3, 20, 6, 4)[0]
    places[0, 0, 0] = 1.0 + 1e-15
    found = folded(places, dim)
    np.testing.assert_allclose(found, folded.reference(places, dim), rtol=1e-12)
    by_hand = np.minimum(np.linalg.norm(places[:, :, :dim], axis=2), 1.0)
    np.testing.assert_allclose(found[:, :, 0], by_hand, rtol=1e-12)


def test_any_layout_of_the_places_has_the_same_gains():
    places, *others = rows_and_flats(1, 11, 30, 6, 3)
    other = np.ascontiguousarray(places.transpose(0, 2, 1)).transpose(0, 2, 1)
    found, again = gains_of_flats(places, *others), gains_of_flats(other, *others)
    for one, two in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, two)

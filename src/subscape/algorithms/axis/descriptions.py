"""Describe a cluster of units by few boxes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["box_text", "boxes_in_values", "minimal_boxes"]

Unit = tuple[int, ...]
Box = tuple[tuple[int, int], ...]


def minimal_boxes(units: NDArray[np.integer]) -> NDArray[np.int64]:
    """Cover units by boxes, none of which can grow or be left out.

    From every unit not covered yet, in lexicographic order, a box grows as far as the units allow,
    one column after the other. Then boxes that the others cover are removed, small ones first.

    Parameters
    ----------
    units : (u, d) array of int
        The bin of each unit in each column.

    Returns
    -------
    (b, d, 2) array of int
        First bin, and the one after the last, of each box in each column. The boxes may overlap;
        together they hold all the units and nothing else.

    Examples
    --------
    An L of three units is two boxes with the corner in common:

    >>> import numpy as np
    >>> from subscape.algorithms.axis.descriptions import minimal_boxes
    >>> minimal_boxes(np.array([[0, 0], [0, 1], [1, 0]])).tolist()
    [[[0, 2], [0, 1]], [[0, 1], [0, 2]]]
    """
    if len(units) == 1:
        return np.stack([units, units + 1], axis=-1).astype(np.int64)
    members = {tuple(unit) for unit in units.tolist()}
    covers: dict[Unit, int] = dict.fromkeys(members, 0)
    boxes: list[Box] = []
    for unit in sorted(members):
        if covers[unit] == 0:
            box = _grown(unit, members)
            boxes.append(box)
            for inside in _units_of(box):
                covers[inside] += 1
    for box in sorted(boxes, key=lambda box: (_n_units(box), box)):
        held = list(_units_of(box))
        if min(covers[unit] for unit in held) > 1:
            boxes.remove(box)
            for unit in held:
                covers[unit] -= 1
    return np.array(boxes, dtype=np.int64).reshape(len(boxes), units.shape[1], 2)


def boxes_in_values(
    boxes: NDArray[np.int64], edges: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Turn bins into values: the lower and upper limit of each box in each column.

    Parameters
    ----------
    boxes : (b, d, 2) array of int
        Boxes as :func:`minimal_boxes` gives them.
    edges : sequence of d arrays
        The limits of each column's bins.

    Returns
    -------
    (b, d, 2) array of float
        Lower and upper limits.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.algorithms.axis.descriptions import boxes_in_values
    >>> boxes_in_values(np.array([[[0, 2]]]), [np.array([0.0, 0.5, 1.0, 1.5])])
    array([[[0., 1.]]])
    """
    return np.stack([limits[boxes[:, j]] for j, limits in enumerate(edges)], axis=1)


def box_text(boxes: NDArray[np.float64], names: Sequence[str]) -> str:
    """Say in words which values a cluster has.

    Parameters
    ----------
    boxes : (b, d, 2) array of float
        The limits of the boxes.
    names : sequence of d str
        The names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.algorithms.axis.descriptions import box_text
    >>> box_text(np.array([[[0.0, 1.0], [2.0, 2.5]]]), ["age", "salary"])
    '0 <= age < 1 and 2 <= salary < 2.5'
    """
    terms = [
        " and ".join(
            f"{low:.6g} <= {name} < {high:.6g}"
            for name, (low, high) in zip(names, box.tolist(), strict=True)
        )
        for box in boxes
    ]
    return terms[0] if len(terms) == 1 else " or ".join(f"({term})" for term in terms)


def _grown(unit: Unit, members: set[Unit]) -> Box:
    """Extend a unit to lower and higher bins, column by column.

    One pass makes the box maximal: growing in a later column only makes earlier slabs larger.
    """
    box = [(position, position + 1) for position in unit]
    for j in range(len(box)):
        while _fits(box, j, box[j][0] - 1, members):
            box[j] = (box[j][0] - 1, box[j][1])
        while _fits(box, j, box[j][1], members):
            box[j] = (box[j][0], box[j][1] + 1)
    return tuple(box)


def _fits(box: list[tuple[int, int]], j: int, position: int, members: set[Unit]) -> bool:
    slab = [*box[:j], (position, position + 1), *box[j + 1 :]]
    return all(unit in members for unit in _units_of(slab))


def _units_of(box: Sequence[tuple[int, int]]) -> product[Unit]:
    return product(*(range(first, end) for first, end in box))


def _n_units(box: Box) -> int:
    return int(np.prod([end - first for first, end in box]))

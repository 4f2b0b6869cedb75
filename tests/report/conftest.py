"""Studies to show: an ordinary one, one with everything odd in it, one that found nothing."""

from __future__ import annotations

import pytest

from subscape.testing.studies import empty_study, planted_study

#: Names that would do harm on a careless page.
HOSTILE = (
    "</script><img src=x onerror=document.title='harmed'>",
    "=cmd|' /C calc'!A0",
    "<b onmouseover=document.title='harmed'>bold</b>",
    "n" * 300,
    "quote\"' onload=alert(1) x=",
    "{{ 7 * 7 }}{% raw %}",
    "naïve 数据 \u202e\u2028",
    "]]><!--",
    " ",
)


@pytest.fixture(scope="session")
def study():
    return planted_study(200)


@pytest.fixture(scope="session")
def odd_study():
    return planted_study(
        240,
        feature_names=HOSTILE,
        row_names=tuple(f"=person{i}<i>" for i in range(240)),
        untidy=True,
        is_provisional=True,
        failures=((f"CLIQUE({HOSTILE[0]})", f"MemoryError: {HOSTILE[0]}"),),
        truth=(
            {
                "name": HOSTILE[0],
                "views": [{"ari": ari, "nmi": ari / 2} for ari in (0.9, 0.1, 0.0)],
            },
        ),
        notes=(f"left out, because constant: {HOSTILE[0]}",),
        settings={"source": HOSTILE[0], "seed": 0},
        table_schema=tuple(
            {"name": name, "role": "numeric", "kind": "number", "note": name} for name in HOSTILE
        ),
    )


@pytest.fixture(scope="session")
def nothing():
    return empty_study()


@pytest.fixture(scope="session")
def large_study():
    return planted_study(6000, n_clusters=(6, 5, 4, 4, 3, 3, 2, 2), n_results=250)

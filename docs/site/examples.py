"""The examples of the gallery: stories and measures by hand, one per finder from the catalogue.

Those written by hand lie in docs/gallery, a folder per chapter. For every finder, finder of views,
finder of alternatives and consensus method of the catalogue an example is made here, on data of its kind:
whoever adds a finder gets its example with the entry.
"""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import Any

from reference import guide_of

from subscape.finders.catalogue import Entry, of_role

HAND_MADE = Path(__file__).parents[1] / "gallery"

#: Folder -> heading and a line; folders are shown in the order of their names.
CHAPTERS = {
    "1_stories": ("Stories", "From a table to an answer."),
    "2_measures": (
        "Comparing and scoring",
        "One example per family of measures, and for validation.",
    ),
    "3_finders": (
        "Finders",
        "One clustering of a table, by each finder, on data of the kind it is made for.",
    ),
    "4_several": (
        "Several clusterings of one table",
        "Views at once, and alternatives to what is known.",
    ),
    "5_consensus": ("One clustering out of many", "Each consensus method on the same ensemble."),
}
FOLDER_OF = {
    "finder": "3_finders", "views": "4_several", "alternative": "4_several", "consensus": "5_consensus",
}  # fmt: skip

#: Parameters of examples, beyond the number of clusters.
PARAMETERS: dict[str, dict[str, Any]] = {
    "ITCC": {"n_row_clusters": 3, "n_column_clusters": 2},
    "NrKMeans": {"n_clusters": (4, 3, 1)},
    "HARP": {"n_clusters": 4},
    "Leiden": {"n_neighbors": 40, "resolution": 0.05},
    "MetaClustering": {"n_alternatives": 2},
    "MOEAPCE": {"n_generations": 30},
}

#: Kind of the data -> words, code that makes it, and the number of clusters in it.
SCENES = {
    "boxes": (
        "Four groups, each narrow in five of twelve features and anywhere in the others, and one row in ten in no "
        "group at all.",
        "from subscape.datasets import planted_axes\n\n"
        "X, truth = planted_axes(400, 12, n_clusters=4, dims=5, noise=0.1, random_state=3)",
        4,
    ),
    "blocks": (
        "Three groups of rows and two of columns, planted together.",
        "from subscape.datasets import planted_cocluster\n\n"
        "X, truth = planted_cocluster((120, 40), 3, 2, random_state=0)\n"
        "X = X - min(X.min(), 0) + 0.01  # weights are positive",
        3,
    ),
    "lines": (
        "Three groups along lines in space, and some rows anywhere.",
        "from subscape.datasets import planted_oriented\n\n"
        "X, truth = planted_oriented(3, ((1, 150), (1, 150), (1, 150)), noise=0.08, random_state=2)",
        3,
    ),
    "answers": (
        "Two hundred people answer sixteen questions with yes or no; each of three kinds of people has its usual "
        "answers.",
        "import numpy as np\n\nrng = np.random.default_rng(0)\nusual = rng.random((3, 16)) < 0.5\n"
        "kind = rng.integers(3, size=200)\n"
        "X = np.where(rng.random((200, 16)) < 0.85, usual[kind], ~usual[kind]).astype(float)\n"
        "truth = kind",
        3,
    ),
    "moons": (
        "Two half moons.",
        "from sklearn.datasets import make_moons\n\nX, truth = make_moons(400, noise=0.08, random_state=0)",
        2,
    ),
    "views": (
        "Eight features hold two groupings that have nothing to do with each other, of four and of three clusters, in "
        "rotated subspaces.",
        "from subscape.datasets import planted_views\n\n"
        "X, truths = planted_views(400, 8, n_clusters=(4, 3), random_state=1)",
        4,
    ),
    "known": (
        "Two groupings of the same rows; one of them is known.",
        "from subscape.datasets import planted_views\n\n"
        "X, (known, hidden) = planted_views(300, 5, n_clusters=(3, 3), random_state=1)",
        3,
    ),
    "ensemble": (
        "Twenty clusterings of one table, each with another start.",
        "from subscape.datasets import planted_axes\n"
        "from subscape.ensemble import generate\n"
        "from subscape.finders import LAC\n\n"
        "X, truth = planted_axes(200, 10, n_clusters=4, dims=4, random_state=0)\n"
        "ensemble = generate(X, LAC(4), size=20, random_state=0)",
        4,
    ),
}  # fmt: skip

CELLS = """# %%
# In words, and how far it is from the truth (0 is the truth, subspaces included).
from subscape import describe
from subscape.measures import clustering_error

print(describe(X, finder.clustering_))
print("clustering error:", round(clustering_error(truth, finder.clustering_), 3))

# %%
# Which rows and which features: the cells of the table that clusters cover.
from subscape.plots import CellsDisplay

CellsDisplay.from_clustering(finder, title="clusters found")
"""
FLATS = """# %%
# How many rows are with those they belong to?
from subscape.measures import adjusted_rand_score

print("adjusted Rand:", round(adjusted_rand_score(truth.labels(), finder.labels_), 3))

# %%
# The flats of the clusters.
from subscape.plots import FlatsDisplay

FlatsDisplay.from_clustering(X, finder)
"""
POINTS = """# %%
# How many rows are with those they belong to?
import matplotlib.pyplot as plt

from subscape.measures import adjusted_rand_score

print("adjusted Rand:", round(adjusted_rand_score(truth, finder.labels_), 3))

# %%
# The clusters in the first two features.
plt.figure(figsize=(5.2, 3.4), layout="constrained")
plt.scatter(X[:, 0], X[:, 1], c=finder.labels_, cmap="tab10", s=8, vmax=9)
plt.title("clusters found")
"""
ROWS = """# %%
# How many rows are with those they belong to?
from subscape.measures import adjusted_rand_score

print("adjusted Rand:", round(adjusted_rand_score(truth, finder.labels_), 3))

# %%
# Which rows and which features: the cells of the table that clusters cover.
from subscape.plots import CellsDisplay

CellsDisplay.from_clustering(finder, title="clusters found")
"""
VIEWS = """# %%
# Each hidden grouping with the view that is most like it.
from subscape.measures import adjusted_rand_score

for number, truth in enumerate(truths):
    likeness = [adjusted_rand_score(truth.labels(), c.labels()) for c in finder.clusterings_]
    print(f"grouping {number}: adjusted Rand {max(likeness):.2f}")

# %%
# Every view in its own directions, coloured by each of them.
from subscape.plots import ViewsDisplay

ViewsDisplay.from_clusterings(X, finder)
"""
BESIDE = """# %%
# It should be unlike the known grouping; is it the hidden one?
from subscape.measures import adjusted_rand_score

print("adjusted Rand with the known: ", round(adjusted_rand_score(known.labels(), finder.labels_), 2))
print("adjusted Rand with the hidden:", round(adjusted_rand_score(hidden.labels(), finder.labels_), 2))

# %%
# Known and found, each in its own directions and coloured by both.
from subscape.plots import ViewsDisplay

ViewsDisplay.from_clusterings(X, [known.labels(), finder.labels_], names=["given", "found"])
"""
VOTED = """# %%
# How far from the truth are the members, and how far is the consensus?
import numpy as np

from subscape.measures import adjusted_rand_score

members = [adjusted_rand_score(truth.labels(), member.labels()) for member in ensemble]
print("members, mean adjusted Rand:", round(float(np.mean(members)), 2))
print("consensus:", round(adjusted_rand_score(truth.labels(), finder.labels_), 2))

# %%
# How many members join each pair of rows, with the clusters of the consensus.
from subscape.plots import CoassociationDisplay

CoassociationDisplay.from_ensemble(ensemble, finder)
"""


def scene_of(entry: Entry) -> tuple[str, str]:
    """The data of an entry's example, and what is shown of its result."""
    if entry.role == "views":
        return "views", VIEWS
    if entry.role == "alternative":
        return ("views", VIEWS) if entry.name == "MetaClustering" else ("known", BESIDE)
    if entry.role == "consensus":
        return "ensemble", VOTED
    if entry.name == "SubKMeans":
        return "views", VIEWS.replace("finder.clusterings_", "[finder.clustering_]").replace(
            "ViewsDisplay.from_clusterings(X, finder)", "ViewsDisplay.from_clusterings(X, [finder])"
        )
    if entry.nominal:
        return "answers", ROWS
    if entry.name in ("DensityTree", "Leiden"):
        return "moons", POINTS
    return {
        "axis": ("boxes", CELLS),
        "weighted": (
            "boxes",
            CELLS.replace("finder.clustering_), 3", 'finder.clustering_, mass="unit"), 3'),
        ),
        "cocluster": ("blocks", CELLS),
        "oriented": ("lines", FLATS),
        "rows": ("moons", POINTS),
    }[entry.kind]


def call_of(entry: Entry, n_clusters: int) -> str:
    """How the example makes and fits the finder."""
    accepted = inspect.signature(entry.load().__init__).parameters
    given = dict(PARAMETERS.get(entry.name, {}))
    if (
        (entry.needs_k or entry.role == "consensus")
        and "n_clusters" in accepted
        and "n_clusters" not in given
    ):
        given["n_clusters"] = n_clusters
    given = {name: value for name, value in sorted(given.items()) if name in accepted}
    if "random_state" in accepted:
        given["random_state"] = 0
    made = f"{entry.name}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
    if entry.role == "alternative" and entry.name != "MetaClustering":
        return f"{made}.fit(X, given=known)"
    if entry.role == "consensus":
        return f"{made}.fit(ensemble{', X' if 'table' in entry.needs else ''})"
    return f"{made}.fit(X)"


def example_of(entry: Entry) -> str:
    """The text of an example."""
    data, shown = scene_of(entry)
    words, code, n_clusters = SCENES[data]
    title = f"{entry.name}: {entry.sentence}"
    guide = guide_of(entry.name)
    more = f":doc:`Its guide </{guide}>` says when to use it and when not. " if guide else ""
    if entry.role == "consensus":
        more = "The guide to :doc:`ensembles </docs/ensemble>` compares it with the others. "
    home = "subscape.ensemble" if entry.role == "consensus" else "subscape.finders"
    return (
        f'r"""\n{title}\n{"=" * len(title)}\n\n{more}{entry.citation}\n"""\n\n'
        f"# %%\n# {words}\n{code}\n\n"
        f"# %%\n# The search.\nfrom {home} import {entry.name}\n\n"
        f"finder = {call_of(entry, n_clusters)}\nfinder.clustering_\n\n{shown}"
    )


def write(folder: Path) -> None:
    """Put all examples into a folder, as sphinx-gallery wants them."""
    folder.mkdir(parents=True)
    folder.joinpath("GALLERY_HEADER.rst").write_text(
        "Gallery\n=======\n\nEvery example was run when this page was built.\n"
    )
    for name, (heading, line) in CHAPTERS.items():
        chapter = folder / name
        chapter.mkdir()
        chapter.joinpath("GALLERY_HEADER.rst").write_text(
            f"{heading}\n{'-' * len(heading)}\n\n{line}\n"
        )
        for path in sorted((HAND_MADE / name).glob("*.py")):
            shutil.copy(path, chapter / path.name)
    for entry in of_role(*FOLDER_OF).values():
        path = folder / FOLDER_OF[entry.role] / f"{entry.name.lower()}.py"
        path.write_text(example_of(entry))

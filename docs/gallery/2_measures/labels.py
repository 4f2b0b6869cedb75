"""
Rows alone: adjusted Rand, NMI, label error and the others
==========================================================

Everything that compares two labellings, in one table.
"""

# %%
# A labelling, and copies with more and more rows moved at random.
import matplotlib.pyplot as plt
import numpy as np

from subscape.measures import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    fowlkes_mallows_score,
    label_error,
    label_jaccard_score,
    partition_report,
)

rng = np.random.default_rng(0)
truth = rng.integers(4, size=400)


def moved(share):
    labels = truth.copy()
    rows = rng.random(400) < share
    labels[rows] = rng.integers(4, size=rows.sum())
    return labels


print(partition_report(truth, moved(0.3)))

# %%
# Some are corrected for chance and end at 0, the others don't.
shares = np.linspace(0, 1, 11)
measures = {
    "adjusted Rand": adjusted_rand_score,
    "adjusted mutual information": adjusted_mutual_info_score,
    "Fowlkes-Mallows": fowlkes_mallows_score,
    "Jaccard": label_jaccard_score,
    "1 - label error": lambda a, b: 1 - label_error(a, b),
}
plt.figure(figsize=(5.6, 3.6), layout="constrained")
for name, measure in measures.items():
    plt.plot(shares, [measure(truth, moved(share)) for share in shares], label=name)
plt.xlabel("share of rows moved at random")
plt.legend(fontsize="small")

"""
Correction for chance, and p-values of a comparison
===================================================

Two clusterings always have something in common. How much would they have by chance?
"""

# %%
# A clustering against the truth, with rows moved.
import numpy as np

from subscape.datasets import planted_axes
from subscape.measures import clustering_error, corrected, p_value

_, truth = planted_axes(200, 10, n_clusters=4, dims=5, random_state=0)
rng = np.random.default_rng(0)
clusters = []
for k in range(4):
    rows, features = truth.cluster(k).rows, truth.cluster(k).features
    clusters.append((rng.permutation(rows)[: len(rows) // 2], features))
half = type(truth).from_clusters(clusters, shape=truth.shape)
print("clustering error:", round(clustering_error(half, truth), 3))
print(corrected("clustering_error", half, truth, random_state=0))
test = p_value("clustering_error", half, truth, n_samples=199, random_state=0)
print(test)

# %%
# The value beside those of shuffled rows.
import matplotlib.pyplot as plt

shuffled = []
for seed in range(100):
    order = np.random.default_rng(seed).permutation(200)
    moved = [(order[rows], features) for rows, features in clusters]
    shuffled.append(clustering_error(type(truth).from_clusters(moved, shape=truth.shape), truth))
plt.figure(figsize=(5.2, 3.2), layout="constrained")
plt.hist(shuffled, bins=20, label="shuffled rows")
plt.axvline(clustering_error(half, truth), color="crimson", label="found")
plt.xlabel("clustering error")
plt.legend()

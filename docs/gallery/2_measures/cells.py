"""
Rows and features together: clustering error, RNIA, VI, Rand, E4SC
==================================================================

A cluster of rows in a subspace covers cells of the table. Measures of cells compare those.
"""

# %%
# The same clusters, with features lost one by one: every distance should grow.
import matplotlib.pyplot as plt
import numpy as np

from subscape.datasets import planted_axes
from subscape.measures import clustering_error, e4sc_score, rand_distance, rnia

_, truth = planted_axes(300, 12, n_clusters=4, dims=8, random_state=0)
curves = {"clustering error": [], "RNIA": [], "Rand": [], "1 - E4SC": []}
for lost in range(8):
    clusters = [(truth.cluster(k).rows, truth.cluster(k).features[lost:]) for k in range(4)]
    found = type(truth).from_clusters(clusters, shape=truth.shape)
    curves["clustering error"].append(clustering_error(found, truth))
    curves["RNIA"].append(rnia(found, truth))
    curves["Rand"].append(rand_distance(found, truth))
    curves["1 - E4SC"].append(1 - e4sc_score(found, truth))

# %%
# Measures of labels would say 0 everywhere: the rows are right.
plt.figure(figsize=(5.6, 3.6), layout="constrained")
for name, values in curves.items():
    plt.plot(np.arange(8), values, marker="o", label=name)
plt.xlabel("features lost by every cluster (of 8)")
plt.ylabel("distance from the truth")
plt.legend()

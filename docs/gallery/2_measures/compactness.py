"""
Tight and apart: silhouette, Dunn, Davies-Bouldin and others
============================================================

Indices that look at the rows alone, over the number of clusters.
"""

# %%
# Four round groups; k-means with two to eight clusters.
import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from subscape.measures import (
    calinski_harabasz_score,
    davies_bouldin_index,
    dunn_index,
    silhouette_score,
)

X, _ = make_blobs(200, centers=4, cluster_std=1.2, random_state=3)
numbers = range(2, 9)
labels = {k: KMeans(k, n_init=5, random_state=0).fit_predict(X) for k in numbers}

# %%
# Where is each of them best?
indices = {
    "silhouette": silhouette_score,
    "Dunn": dunn_index,
    "Davies-Bouldin (small is good)": davies_bouldin_index,
    "Calinski-Harabasz": calinski_harabasz_score,
}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.4), layout="constrained")
for ax, (name, index) in zip(axes, indices.items(), strict=True):
    ax.plot(list(numbers), [index(X, labels[k]) for k in numbers], marker="o", markersize=3)
    ax.set_title(name, fontsize="small")
    ax.set_xlabel("clusters")

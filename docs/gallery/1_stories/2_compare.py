"""
Which of these results are the same?
====================================

Eight runs of three algorithms, with different numbers of clusters. Distances that see rows *and*
features tell which of them found the same thing.
"""

# %%
# Four groups in subspaces of five features each.
from sklearn.cluster import KMeans

from subscape import SubspaceClustering
from subscape.datasets import planted_axes
from subscape.finders import PROCLUS, SSPC

X, truth = planted_axes(300, 12, n_clusters=4, dims=5, random_state=1)
found = {"truth": truth}
for k in (3, 4, 5):
    found[f"PROCLUS {k}"] = PROCLUS(k, random_state=0).fit(X).clustering_
    labels = KMeans(k, n_init=5, random_state=0).fit_predict(X)
    found[f"k-means {k}"] = SubspaceClustering.from_labels(labels, n_features=12)
found["SSPC 4"] = SSPC(4, random_state=0).fit(X).clustering_

# %%
# Two of them, cluster by cluster: which correspond, and what do they share?
from subscape.measures import clustering_error, match_clusters, rnia

print("clustering error:", round(clustering_error(found["PROCLUS 5"], truth), 3))
print("non-intersecting area:", round(rnia(found["PROCLUS 5"], truth), 3))
print(match_clusters(found["PROCLUS 5"], truth))

# %%
# All of them. k-means finds the right rows here, but doesn't know in which features.
from subscape.plots import DistanceMatrixDisplay

DistanceMatrixDisplay.from_clusterings(list(found.values()), names=list(found))

"""
Two dendrograms compared
========================

How alike are two hierarchies of the same rows?
"""

# %%
# Average and single linkage of the same rows.
import matplotlib.pyplot as plt
from scipy.cluster.hierarchy import dendrogram, linkage
from sklearn.datasets import make_blobs

from subscape.measures import cophenetic_similarity, dendrogram_distance

X, _ = make_blobs(40, centers=3, cluster_std=1.5, random_state=1)
trees = {name: linkage(X, name) for name in ("average", "complete", "single")}
for name in ("complete", "single"):
    alike = cophenetic_similarity(trees["average"], trees[name])
    apart = dendrogram_distance(trees["average"], trees[name])
    print(f"average and {name}: cophenetic {alike:.2f}, distance {apart:.2f}")

# %%
# Side by side.
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
for ax, (name, tree) in zip(axes, trees.items(), strict=True):
    dendrogram(tree, ax=ax, no_labels=True, color_threshold=0)
    ax.set_title(name)

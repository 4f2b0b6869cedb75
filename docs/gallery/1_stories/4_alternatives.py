"""
Is there another way to group them?
===================================

The obvious grouping of a table is known. What else is there?
"""

# %%
# Handwritten digits: the classes 0 and 1 are easy to tell apart. They are what is known.
from sklearn.datasets import load_digits

digits, known = load_digits(n_class=2, return_X_y=True)
digits = digits[:, digits.std(axis=0) > 0]  # the rims of all images are white

# %%
# A grouping of the same images that is unlike the known one, and good by itself.
from subscape.finders import ResidualKMeans
from subscape.measures import adjusted_rand_score, silhouette_score

finder = ResidualKMeans(random_state=0).fit(digits, given=known)
print("adjusted Rand with what is known:", round(adjusted_rand_score(known, finder.labels_), 3))
print("silhouette:", round(silhouette_score(digits, finder.labels_), 3))

# %%
# The known grouping and the new one, each in the directions in which it is clearest.
from subscape.plots import ViewsDisplay

ViewsDisplay.from_clusterings(digits, [known, finder.labels_], names=["known", "new"])

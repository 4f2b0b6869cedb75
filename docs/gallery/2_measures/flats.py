"""
By reconstruction: SRE and description length
=============================================

Without any truth: how much of the table is lost if each row is replaced by its shadow on the flat
of its cluster?
"""

# %%
# Wine, as one cluster and as three flats.
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from subscape.finders import KFlats
from subscape.measures import description_length, sre

X = minmax_scale(load_wine().data)
candidates = {"one cluster": np.zeros(len(X), int), "three flats": KFlats(3, random_state=0).fit(X)}
for name, clustering in candidates.items():
    print(f"{name}: SRE {sre(X, clustering).total:.3f}")
print(description_length(X, candidates["three flats"].clustering_))

# %%
# What is lost with flats of every dimension.
from subscape.plots import LossCurveDisplay

LossCurveDisplay.from_clusterings(X, candidates)

"""
How many clusters?
==================

The number with which the clusters come back in samples of the rows.
"""

# %%
# Four groups in subspaces of six features.
from subscape.datasets import planted_axes
from subscape.finders import LAC
from subscape.validation import resampling_stability

X, _ = planted_axes(250, 12, n_clusters=4, dims=6, random_state=0)
curve = resampling_stability(
    LAC(n_init=5, random_state=0), X, {"n_clusters": [2, 3, 4, 5, 6]}, n_samples=8, random_state=0
)
print(curve)

# %%
# The curve, with how far it may be from the truth.
from subscape.plots import StabilityCurveDisplay

StabilityCurveDisplay.from_curves(curve)

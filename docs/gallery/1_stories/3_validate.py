"""
Could it be chance?
===================

k-means cuts everything into as many groups as it is told to. Here a finder is run on a table with
three groups and on one with none.
"""

# %%
# One table with groups, one without: the same sizes, the same kind of columns.
from subscape.datasets import planted_axes, structureless
from subscape.finders import LAC
from subscape.validation import resampling_stability, significance

with_groups = planted_axes(150, 8, n_clusters=3, dims=4, random_state=0).X
without = structureless("gaussian", 150, 8, random_state=0)
finder = LAC(3, n_init=3, random_state=0)

# %%
# How often does a table without groups give a cluster as clear as these?
tests = {
    "three groups": significance(finder, with_groups, n_null=39, random_state=0),
    "none": significance(finder, without, n_null=39, random_state=0),
}
for name, test in tests.items():
    print(f"{name}: p = {test.p_value:.3f}")

# %%
# And do the clusters come back when some of the rows are missing?
for name, table in (("three groups", with_groups), ("none", without)):
    samples = resampling_stability(finder, table, {"n_clusters": [3]}, n_samples=8, random_state=0)
    print(name)
    print(samples.clusters[0])

# %%
# The clusters against those of tables without groups.
from subscape.plots import NullDistributionDisplay

NullDistributionDisplay.from_significance(tests["three groups"])

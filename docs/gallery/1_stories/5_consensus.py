"""
What do many runs agree on?
===========================

Every run of a finder gives another answer. A consensus keeps what they share, in rows and in
features, and says how sure each row is.
"""

# %%
# Thirty runs, each with another start.
from subscape.datasets import planted_axes
from subscape.ensemble import ClusterBasedPCE, agreement, generate
from subscape.finders import LAC
from subscape.measures import adjusted_rand_score

X, truth = planted_axes(200, 10, n_clusters=4, dims=4, random_state=0)
ensemble = generate(X, LAC(4, n_init=1), size=30, random_state=0)
single = [adjusted_rand_score(truth.labels(), member.labels()) for member in ensemble]
print(f"single runs: adjusted Rand {min(single):.2f} to {max(single):.2f}")

# %%
# What they agree on.
consensus = ClusterBasedPCE(4, random_state=0).fit(ensemble)
print("consensus:", round(adjusted_rand_score(truth.labels(), consensus.labels_), 2))
print(agreement(consensus, ensemble))

# %%
# How many members join each pair of rows.
from subscape.plots import CoassociationDisplay

CoassociationDisplay.from_ensemble(ensemble, consensus)

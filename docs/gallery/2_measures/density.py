"""
Where the points lie: ADCO
==========================

ADCO compares how dense clusters are along the attributes. It needs no common rows: this month's
clusters can be compared with last month's.
"""

# %%
# Six months of customers, clustered each month by itself. In the fourth the habits change.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from subscape.measures import Bins, DensityProfile, adco_similarity

months = []
for month in range(6):
    rng = np.random.default_rng(month)
    centres = np.array([[0, 0], [6, 6]] if month < 3 else [[0, 6], [6, 0]])
    X = centres[rng.integers(2, size=200)] + rng.normal(size=(200, 2))
    months.append((X, KMeans(2, n_init=5, random_state=0).fit_predict(X)))

# %%
# Alike within the first three months and within the last three, unlike between.
bins = Bins.common([X for X, _ in months], bins=5)
profiles = [DensityProfile.of(X, labels, bins=bins) for X, labels in months]
likeness = [adco_similarity(profiles[0], profile) for profile in profiles]
plt.figure(figsize=(5.2, 3.2), layout="constrained")
plt.bar(range(1, 7), likeness)
plt.xlabel("month")
plt.ylabel("ADCO similarity with month 1")

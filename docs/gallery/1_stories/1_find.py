"""
What groups are in my table?
============================

Nobody tells the search how many groupings there are, in which features, or of how many clusters.
"""

# %%
# A table of people. Two groupings are hidden in it: one in income and rent, one in sleep and steps.
import pandas as pd

from subscape.datasets import planted_views

X, truths = planted_views(
    300, 5, n_clusters=(3, 2), dims=(2, 2), separation=8, rotate=False, random_state=0
)
people = pd.DataFrame(X, columns=["income", "rent", "steps", "sleep", "coffee"]).round(2)
people.head()

# %%
# The whole job in one call.
import subscape

study = subscape.explore(people, effort="quick", random_state=0)
print(study)

# %%
# Every cluster of every view with its size, whether it comes back in samples of the rows, and how
# often a table without groups has one as clear.
study.to_frame()[["view", "cluster", "rows", "stability", "p_value", "features"]]

# %%
# The first view in words, and both views in their own directions.
from subscape.plots import ViewsDisplay

for words in study[1].descriptions:
    print(words)
ViewsDisplay.from_clusterings(people, [view.labels for view in study.views])

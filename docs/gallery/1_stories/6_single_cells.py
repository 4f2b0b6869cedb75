"""
Single cells in AnnData, and back
=================================

An AnnData object goes in, and the groups stand in it afterwards, where scanpy looks for them.
"""

# %%
# A generated object: 240 cells, 12 genes of which six tell three types apart, the others don't.
import anndata
import numpy as np

rng = np.random.default_rng(0)
kind = rng.integers(3, size=240)
mean = np.full((3, 12), 2.0)
mean[0, :2] = mean[1, 2:4] = mean[2, 4:6] = 5.0
adata = anndata.AnnData(np.log1p(rng.poisson(np.exp(mean[kind] / 2))).astype(float))
adata.var_names = [f"gene{j}" for j in range(12)]
adata.obs["type"] = kind.astype(str)

# %%
# In the manner of scanpy: the tool writes into the object.
import subscape as ss

ss.tl.explore(adata, effort="quick", random_state=0)
adata

# %%
# Who is in which group, beside what is known.
import pandas as pd

pd.crosstab(adata.obs["type"], adata.obs["subscape_view1"])

# %%
# The genes that make the clusters: how relevant each is, for each cluster.
relevance = pd.DataFrame(adata.varm["subscape_view1"], index=adata.var_names).round(2)
relevance

# %%
# The cells in the directions in which the groups differ most.
ss.pl.views(adata)

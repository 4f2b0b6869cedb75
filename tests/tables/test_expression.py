from __future__ import annotations

import anndata
import numpy as np
import pytest
from scipy import sparse

from subscape.core.errors import SubscapeError
from subscape.tables import Table
from subscape.tables.expression import highly_variable, kind_of, normalised, usual_size


def counts(n_rows=80, n_genes=60, seed=0):
    """Counts of two kinds of cells with library sizes of their own; genes 0 to 4 tell."""
    rng = np.random.default_rng(seed)
    mean = np.tile(rng.gamma(1.0, 2.0, n_genes) + 0.5, (n_rows, 1))
    mean[: n_rows // 2, :5] *= 9
    size = rng.lognormal(0, 0.7, n_rows)
    return rng.poisson(mean * size[:, None]).astype(float)


def in_anndata(X):
    adata = anndata.AnnData(X)
    adata.obs_names = [f"c{i}" for i in range(X.shape[0])]
    adata.var_names = [f"g{j}" for j in range(X.shape[1])]
    return adata


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.csc_array]
)
def test_kinds(form):
    X = counts()
    assert kind_of(form(X)) == "counts"
    shares = X / X.sum(axis=1, keepdims=True) * 1e4
    assert kind_of(form(shares)) == "shares"
    assert kind_of(form(np.log1p(shares))) == "logs"
    assert kind_of(form(np.log1p(X) + 0.5 * (X > 0))) == "numbers"


def test_scaled_columns_and_yes_or_no_are_no_counts():
    X = np.log1p(counts())
    scaled = np.clip((X - X.mean(axis=0)) / X.std(axis=0), None, 10)
    assert kind_of(scaled) == "scaled"
    assert kind_of((X > 1).astype(float)) != "counts"
    assert kind_of(np.full((3, 2), np.nan)) == "numbers"


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        # The middle and the spread of each column; all but a tenth must be near 0 and 1.
        ([(0.0, 1.0)] * 20, "scaled"), ([(0.19, 1.0)] * 20, "scaled"),
        ([(-0.19, 1.29)] * 20, "scaled"), ([(5.0, 0.0)] * 2 + [(0.0, 1.0)] * 18, "numbers"),
        ([(0.21, 1.0)] * 20, "numbers"), ([(-0.21, 1.0)] * 20, "numbers"),
        ([(0.0, 0.71)] * 20, "scaled"), ([(0.0, 0.69)] * 20, "numbers"),
        ([(0.0, 1.31)] * 20, "numbers"), ([(0.1, 0.0)] + [(0.0, 1.0)] * 19, "scaled"),
        ([(0.0, 1.0)] * 19 + [(5.0, 1.0)], "scaled"),
        ([(0.0, 1.0)] * 18 + [(5.0, 1.0)] * 2, "numbers"),
    ],
)  # fmt: skip
def test_scaled_by_middle_and_spread(columns, kind):
    middles, spreads = np.array(columns).T
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]]) * spreads + middles
    assert kind_of(X) == kind
    assert kind_of(sparse.csr_array(X)) == "numbers" == kind_of(X[1:3])
    X = np.vstack([X, np.where(np.arange(20) == 3, np.nan, X.mean(axis=0))])
    assert (kind_of(X[:4]), np.isnan(X).sum()) == (kind, 1)


def test_kinds_at_their_bounds():
    # Whole numbers need one above 1; rows must have one sum to a thousandth.
    assert kind_of(np.array([[0.0, 1.0], [1.0, 1.0]])) == "numbers"
    assert kind_of(np.array([[0.0, 2.0], [1.0, 1.0]])) == "counts"
    assert kind_of(np.array([[0.0, 2.5], [1.0, 1.5], [0.0, 0.0]])) == "shares"
    assert kind_of(np.array([[0.4, 0.6], [0.5, 0.4991]])) == "shares"
    assert kind_of(np.array([[0.4, 0.6], [0.5, 0.4989]])) == "numbers"
    assert kind_of(np.array([[0.4, 0.6], [0.0, 0.0]])) == "numbers"
    assert kind_of(np.array([[0.5], [0.5]])) == "numbers"
    # Logarithms of 30 and more would be of counts that nobody has.
    shares = np.log1p(np.array([[1.0, 4.0], [2.0, 3.0]]))
    assert kind_of(shares) == "logs"
    large = np.array([[29.9, 1.5, 1.0], [1.5, 29.9, 2.0]])
    assert (kind_of(large), kind_of(large + np.array([0.1, 0.1, 0.0]))) == ("logs", "numbers")


def test_normalising_forgets_how_much_was_read():
    X = counts()
    size = usual_size(X)
    assert size == np.median(X.sum(axis=1))
    once, twice = normalised(X, size), normalised(X * 7, size)
    np.testing.assert_allclose(once, twice)
    np.testing.assert_allclose(np.expm1(once).sum(axis=1), size)
    np.testing.assert_allclose(normalised(sparse.csr_array(X), size).toarray(), once)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_most_variable_columns_are_those_that_tell(form):
    X = counts()
    assert set(range(5)) <= set(highly_variable(form(X), 7, "counts").tolist())
    logs = normalised(X, usual_size(X))
    assert set(range(5)) <= set(highly_variable(form(logs), 15, "logs").tolist())
    assert highly_variable(X, 99, "counts").tolist() == list(range(60))


def test_residual_variance_by_hand():
    """The variance of the residuals, spelled out cell by cell."""
    X = counts(12, 6)
    total, found = X.sum(), []
    for j in range(6):
        residuals = []
        for i in range(12):
            mean = X[i].sum() * X[:, j].sum() / total
            spread = (mean + mean**2 / 100) ** 0.5
            residuals.append(min(max((X[i, j] - mean) / spread, -(12**0.5)), 12**0.5))
        found.append(np.var(residuals))
    best = np.sort(np.argsort(found)[::-1][:2])
    assert highly_variable(X, 2, "counts").tolist() == best.tolist()


def test_counts_of_an_object_are_recognised_and_said():
    X = counts()
    table = Table.read(in_anndata(sparse.csr_matrix(X)), normalize="auto")
    np.testing.assert_allclose(table.to_numpy(), normalised(X, usual_size(X)))
    assert table.source["library_size"] == usual_size(X)
    (note,) = [note for note in table.notes if "counts" in note]
    assert "X holds counts: taken as logarithms" in note and "normalize='none'" in note
    literal = Table.read(in_anndata(X))
    np.testing.assert_array_equal(literal.to_numpy(), X)
    logs = Table.read(in_anndata(normalised(X, 1e4)), normalize="auto")
    np.testing.assert_array_equal(logs.to_numpy(), normalised(X, 1e4))
    assert any("X holds logarithms of counts of one library size" in note for note in logs.notes)


def test_layers_and_the_most_variable_of_them():
    X = counts()
    adata = in_anndata(np.zeros_like(X) + 0.5)
    adata.layers["counts"] = X
    adata.obsm["X_pca"] = X[:, :3] - 1.5
    table = Table.read(adata, layer="counts", normalize="auto", hvg=7)
    kept = highly_variable(X, 7, "counts")
    assert table.feature_names == tuple(f"g{j}" for j in kept)
    # By the sum over all columns, not over those that are kept.
    np.testing.assert_allclose(table.to_numpy(), normalised(X, usual_size(X))[:, kept])
    assert any("the 7 most variable of 60" in note for note in table.notes)
    pca = Table.read(adata, use_rep="X_pca", normalize="auto")
    np.testing.assert_array_equal(pca.to_numpy(), X[:, :3] - 1.5)
    with pytest.raises(SubscapeError, match="no table of counts"):
        Table.read(adata, use_rep="X_pca", hvg=2)


def test_of_a_text_file_counts_are_said_and_normalised_on_request(tmp_path):
    X = counts()
    lines = [",".join(f"{x:g}" for x in row) for row in X]
    path = tmp_path / "counts.csv"
    path.write_text("\n".join([",".join(f"g{j}" for j in range(60)), *lines, ""]))
    X[X > 0] += 0.0
    plain = Table.read(path, normalize="auto")
    np.testing.assert_array_equal(plain.to_numpy(), X)
    asked = Table.read(path, normalize="log", hvg=9)
    assert len(asked.feature_names) == 9 and asked.to_numpy().max() < 10
    thin = np.where(np.arange(60) % 2, X, 0)
    path.write_text(
        "\n".join([",".join(f"g{j}" for j in range(60)),
                   *(",".join(f"{x:g}" for x in row) for row in thin), ""])
    )  # fmt: skip
    assert any("nothing but counts" in n for n in Table.read(path, normalize="auto").notes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"normalize": "sqrt"}, "normalize must be"),
        ({"normalize": -3.0}, "normalize must be"),
        ({"hvg": 0}, "hvg must be at least 1"),
    ],
)
def test_what_cannot_be_asked(options, said):
    with pytest.raises(SubscapeError, match=said):
        Table.read(in_anndata(counts()), **options)


def test_scaled_or_negative_numbers_are_not_taken_for_counts():
    X = np.log1p(counts())
    scaled = in_anndata((X - X.mean(axis=0)) / X.std(axis=0))
    with pytest.raises(SubscapeError, match="all vary alike"):
        Table.read(scaled, hvg=5)
    assert any("already" in note for note in Table.read(scaled, normalize="log").notes)
    with pytest.raises(SubscapeError, match="below 0"):
        Table.read(in_anndata(X - 3), normalize="log")


def test_rows_without_counts_stay_zero_and_are_said():
    X = counts()
    X[3] = 0
    table = Table.read(in_anndata(X), normalize="auto")
    assert (table.to_numpy()[3] == 0).all()
    assert any("1 row without any count stay 0" in note for note in table.notes)

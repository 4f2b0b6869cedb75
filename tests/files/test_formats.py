from __future__ import annotations

import gzip
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import (
    any_clustering,
    random_axis,
    random_oriented,
    random_weighted,
    seeds,
    shapes,
)

from subscape.core import (
    AxisSubspaces,
    DroppedClusterWarning,
    FileFormatError,
    ShapeMismatchError,
    SubscapeError,
    SubspaceClustering,
    UnsupportedKindError,
    WeightedSubspaces,
)
from subscape.files import save
from subscape.files.formats import read_clusterings, read_drafts, read_together, write_clusterings
from subscape.files.labels import harmless


@pytest.fixture
def overlapping():
    return SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([2, 3], [2])], shape=(5, 3))


@pytest.fixture
def write(tmp_path):
    """Write a text under a name and return its path."""

    def make(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


def labels_of(path, **options):
    (clustering,) = read_clusterings(path, **options)
    return clustering.labels().tolist()


class TestLabels:
    @pytest.mark.parametrize(
        "text",
        [
            "0\n0\n1\n-1\n",
            "label\n0\n0\n1\n-1\n",
            "species\n0\n0\n1\n-1\n",
            "a\na\nb\nnoise\n",
            "species\nx\nx\ny\nNA\n",
            '"cluster"\n"0"\n"0"\n"1"\n""\n',
            "row,label\n0,0\n1,0\n2,1\n3,-1\n",
            "row,label\n3,-1\n2,1\n0,0\n1,0\n",
            "id;cluster\n1;7\n2;7\n3;9\n4;\n",
            ",0\n0,5\n1,5\n2,6\n3,-2\n",
            "0.0\n0.0\n1.0\nnan\n",
            "0 0\n1 0\n2 1\n3 -1\n",
            "x\ty\tclass\n0.5\t1.5\tb\n0.7\t2.5\tb\n0.1\t3.5\tc\n0.9\t4.5\t\n",
            "class_a\nclass_a\nclass_b\n-1\n",
        ],
    )
    def test_many_ways_to_write_the_same_labels(self, write, text):
        assert labels_of(write("labels.txt", text)) == [0, 0, 1, -1]

    def test_labels_have_all_the_features_there_are(self, write):
        path = write("labels.csv", "0\n0\n1\n")
        assert read_clusterings(path)[0].shape == (3, 1)
        (clustering,) = read_clusterings(path, feature_names=["a", "b"])
        assert clustering.feature_names == ("a", "b")
        assert clustering.subspaces.masks.tolist() == [[True, True], [True, True]]

    def test_row_names(self, write):
        (clustering,) = read_clusterings(write("l.csv", "ann,x\nbob,y\ncem,x\n"))
        assert clustering.row_names == ("ann", "bob", "cem")
        assert clustering.labels().tolist() == [0, 1, 0]

    def test_several_columns_are_several_clusterings(self, write):
        first, second = read_clusterings(write("l.csv", "row,one,two\na,0,5\nb,0,6\nc,1,6\n"))
        assert first.labels().tolist() == [0, 0, 1]
        assert second.labels().tolist() == [0, 1, 1]
        assert second.provenance == {"file": "l.csv", "format": "labels", "column": "two"}

    def test_two_label_columns_without_header_or_rows(self, write):
        first, second = read_clusterings(write("l.csv", "0,1\n0,1\n1,0\n"))
        assert first.labels().tolist() == [0, 0, 1]
        assert second.labels().tolist() == [1, 1, 0]

    def test_what_a_study_writes_beside_its_labels_is_no_label(self, write):
        text = (
            "row,view_1,view_1_name,view_1_confidence,view_2,view_2_confidence\n"
            "1,1,young,1.0,2,0.5\n2,1,young,0.9,-1,0.0\n3,2,,0.75,1,1.0\n"
        )
        first, second = read_clusterings(write("labels.csv", text))
        assert first.labels().tolist() == [0, 0, 1]
        assert second.labels().tolist() == [1, -1, 0]
        one = "row,view_1,view_1_confidence\n1,1,1.0\n2,2,0.9\n3,2,0.75\n"
        (only,) = read_clusterings(write("labels.csv", one))
        assert only.labels().tolist() == [0, 1, 1]
        assert only.provenance["column"] == "view_1"  # FILE#view_1, as where there are more

    def test_the_label_columns_of_a_data_table(self, write):
        text = "rowname,x,class_1,class_2\nu,0.25,0,1\nv,0.5,0,0\nw,0.75,1,0\n"
        first, second = read_clusterings(write("data.csv", text))
        assert first.labels().tolist() == [0, 0, 1]
        assert second.labels().tolist() == [1, 0, 0]
        assert first.row_names == ("u", "v", "w")

    def test_numpy_arrays(self, tmp_path):
        np.save(tmp_path / "one.npy", [0, 1, 1, -1])
        np.save(tmp_path / "two.npy", [[0, 1], [0, 0], [1, 0]])
        assert labels_of(tmp_path / "one.npy") == [0, 1, 1, -1]
        assert [c.labels().tolist() for c in read_clusterings(tmp_path / "two.npy")] == [
            [0, 0, 1],
            [1, 0, 0],
        ]
        np.save(tmp_path / "bad.npy", np.array([[0], ["x"]], dtype=object), allow_pickle=True)
        with pytest.raises(FileFormatError, match=r"bad\.npy .* pickled objects"):
            read_clusterings(tmp_path / "bad.npy")
        np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2), int))
        with pytest.raises(FileFormatError, match="labels are whole numbers"):
            read_clusterings(tmp_path / "cube.npy")

    def test_gzipped(self, tmp_path):
        (tmp_path / "l.csv.gz").write_bytes(gzip.compress(b"label\n1\n1\n0\n"))
        assert labels_of(tmp_path / "l.csv.gz") == [1, 1, 0]
        (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"label\n1\n1\n0\n" * 50)[:-12])
        with pytest.raises(FileFormatError, match=r"cut\.csv\.gz is damaged or truncated"):
            read_clusterings(tmp_path / "cut.csv.gz")

    @given(seeds, shapes)
    def test_round_trip(self, tmp_path_factory, seed, shape):
        rng = np.random.default_rng(seed)
        made = random_axis(rng, shape).rows_only()
        names = [f"row {i}" for i in range(shape[0])]
        for clustering in (made, made.with_names(row_names=names)):
            path = tmp_path_factory.mktemp("labels") / "l.csv"
            assert read_clusterings(write_clusterings(path, clustering), shape=shape) == [
                clustering
            ]

    def test_several_go_into_one_file(self, tmp_path, overlapping):
        pair = [overlapping.select([k]) for k in (0, 1)]
        path = write_clusterings(tmp_path / "l.tsv", pair, names=["one", "two"], lossy=True)
        assert path.read_text().splitlines()[:2] == ["row\tone\ttwo", "0\t0\t-1"]
        assert [c.labels().tolist() for c in read_clusterings(path)] == [
            [0, 0, 0, -1, -1],
            [-1, -1, 0, 0, -1],
        ]

    def test_everything_is_noise(self, tmp_path):
        nothing = SubspaceClustering.from_labels([-1, -1, -1])
        path = write_clusterings(tmp_path / "l.csv", nothing)
        assert read_clusterings(path) == [nothing]

    def test_formulas_are_disarmed_and_numbers_kept(self, tmp_path):
        names = ["=1+1", "+x", "-y", "@z", "-1", "a=b", "'quoted"]
        made = SubspaceClustering.from_labels([0, 0, 1, 1, -1, -1, 0], row_names=names)
        path = write_clusterings(tmp_path / "l.csv", made)
        rows = [line.rsplit(",", 1) for line in path.read_text().splitlines()]
        assert [row for row, _ in rows] == [
            "row", "'=1+1", "'+x", "'-y", "'@z", "-1", "a=b", "'quoted",
        ]  # fmt: skip
        assert [label for _, label in rows[1:]] == ["0", "0", "1", "1", "-1", "-1", "0"]
        assert read_clusterings(path)[0].row_names == tuple(names)

    @given(st.text(max_size=8))
    def test_no_cell_begins_like_a_formula(self, text):
        safe = harmless(text)
        if safe[:1] in ("=", "+", "-", "@"):
            float(safe)
        assert safe in (text, f"'{text}")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"l\.csv is empty"),
            ("\n\n", r"l\.csv is empty"),
            ("row,label\n", "has a header, but no rows"),
            ("row,label\na,0\nb\n", r"line 3: 1 cell where the first line has 2"),
            ("row,label\na,0\na,1\n", "names rows twice: 'a'"),
            (
                "x,y\n0.5,1.25\n0.5,1.5\n",
                "column 'x' holds numbers such as 0.5, which are no labels",
            ),
        ],
    )
    def test_bad_label_files(self, write, text, message):
        with pytest.raises(FileFormatError, match=message):
            read_clusterings(write("l.csv", text))


class TestOpenSubspace:
    TRUE = "DIM=4;FILE=d://data//db.bin\n1 1 0 0 3 0 1 2\n0 0 1 0 2 2 5\n"

    def expected(self, n_rows=6):
        return SubspaceClustering.from_clusters([([0, 1, 2], [0, 1]), ([2, 5], [2])], (n_rows, 4))

    def test_true_file(self, write):
        path = write("d.true", self.TRUE)
        assert read_clusterings(path) == [self.expected()]
        assert read_clusterings(path, shape=(9, 4)) == [self.expected(9)]
        assert read_clusterings(write("d.txt", self.TRUE)) == [self.expected()]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("real.true", "GLASS TRUE CLUSTER\r\n1 1 0 0 3 0 1 2\r\n0 0 1 0 2 2 5\r\n"),
            ("c.clu", "1 1 0 0 3 0 1 2 \n0 0 1 0 2 2 5 \n"),
            ("c.clu", "true true false false 0 1 2 \nfalse false true false 2 5 \n"),
            (
                "result.txt",
                "Scheme: Proclus\nSC_0: [1 1 0 0 ] #3 {0 1 2 }\nSC_1: [0 0 1 0 ] #2 {2 5 }\n\n"
                "=== Eval stats for training data ===\nCE 0.5\n",
            ),
        ],
    )
    def test_other_ways_to_list_clusters(self, write, name, text):
        assert read_clusterings(write(name, text)) == [self.expected()]

    def test_features_without_a_header_may_be_ambiguous(self, write):
        path = write("c.clu", "1 1 0\n")
        with pytest.raises(FileFormatError, match=r"1 or 2 features.*--shape"):
            read_clusterings(path)
        (clustering,) = read_clusterings(path, shape=(2, 1))
        assert clustering == SubspaceClustering.from_clusters([([0], [0])], shape=(2, 1))

    @given(seeds, shapes, st.booleans())
    def test_round_trip(self, tmp_path_factory, seed, shape, disjoint):
        clustering = random_axis(np.random.default_rng(seed), shape, disjoint=disjoint)
        folder = tmp_path_factory.mktemp("os")
        for name in ("c.true", "c.clu"):
            assert read_clusterings(write_clusterings(folder / name, clustering)) == [clustering]

    def test_no_clusters(self, tmp_path):
        nothing = SubspaceClustering.from_clusters([], shape=(7, 3))
        assert read_clusterings(write_clusterings(tmp_path / "c.true", nothing)) == [nothing]

    def test_what_is_written_is_what_opensubspace_reads(self, tmp_path, overlapping):
        header, *lines = (
            write_clusterings(tmp_path / "c.true", overlapping).read_text().splitlines()
        )
        # Its reader splits the header at = and ; and takes the second word.
        assert header.replace("=", ";").split(";")[:2] == ["DIM", "3"]
        assert lines == ["1 1 0 3 0 1 2", "0 0 1 2 2 3"]

    def test_clusters_without_rows_or_features_are_left_out(self, write):
        text = "DIM=3;\n1 1 0 2 0 1\n0 0 0 2 0 1\n1 0 0 0\n"
        with pytest.warns(DroppedClusterWarning, match="2 clusters without rows or features"):
            (clustering,) = read_clusterings(write("c.true", text))
        assert clustering.subspaces.masks.tolist() == [[True, True, False]]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("DIM=4;\n1 1 0 0 3 0 1\n", r"line 2: 3 rows announced, 2 there"),
            ("DIM=4;\n1 1 0\n", r"line 2: the first 4 numbers must be 0 or 1"),
            ("DIM=4;\n1 1 7 0 1 0\n", r"line 2: the first 4 numbers must be 0 or 1"),
            ("DIM=4;\n1 1 0 0 1 0\nhello\n", r"line 3: expected a line of whole numbers"),
            ("DIM=4;\n1 1 0 0 1 -3\n", r"line 2: expected a line of whole numbers"),
            ("GLASS\n1 1 0 0 3 0 1\n", r"line 2: for no number of features"),
            ("SC_0: [1 1 ] #3 {0 1 2 }\nSC_1: [1 0 ] #3 {0 1", "3 rows announced, 2 there"),
            ("SC_0: [1 1 ] #3 {0 1 2 }\nSC_1: [1 0", "cut short"),
            ("DIM=4;ROWS=2;\n1 1 0 0 1 5\n", "speaks of row 5"),
            ("TITLE\n", "holds no cluster"),
            ("true true 0 1\ntrue 0 1\n", r"different numbers of features: \[1, 2\]"),
        ],
    )
    def test_damaged(self, write, text, message):
        with pytest.raises(FileFormatError, match=message):
            read_clusterings(write("c.true", text))

    def test_shapes_that_do_not_fit(self, write):
        path = write("c.true", self.TRUE)
        with pytest.raises(ShapeMismatchError, match="speaks of row 5"):
            read_clusterings(path, shape=(5, 4))
        with pytest.raises(ShapeMismatchError, match="is about 4 features, not 6"):
            read_clusterings(path, shape=(9, 6))


ELKI_MODEL = "# Model class: de.lmu.ifi.dbs.elki.data.model."


def elki_block(name, rows, *facts, noise=False, values="0.1 0.2 0.3"):
    lines = [
        f"# Cluster: {name}",
        f"# Cluster name: {name}",
        f"# Cluster noise flag: {str(noise).lower()}",
        f"# Cluster size: {len(rows)}",
        *facts,
        *(f"ID={row} {values}".rstrip() for row in rows),
    ]
    return "\n".join(lines) + "\n"


def dims(text):
    return (f"{ELKI_MODEL}SubspaceModel", "# Cluster Mean: 0.1, 0.2, 3e-1", f"# Subspace: {text}")


class TestElki:
    def test_folder(self, tmp_path):
        folder = tmp_path / "run" / "out"
        folder.mkdir(parents=True)
        (folder / "settings.txt").write_text(
            "# Settings:\n# -dbc.in data.csv\n# -algorithm clustering.subspace.PROCLUS\n"
        )
        (folder / "cluster-evaluation.txt").write_text("Precision 0.5\n")
        first = elki_block("cluster_2", [1, 3], *dims("Dimensions: [1, 3]"))
        (folder / "cluster_2.txt").write_text(first)
        second = elki_block("cluster_10", [2], *dims("Dimensions: [2]"))
        (folder / "cluster_10.txt.gz").write_bytes(gzip.compress(second.encode()))
        (folder / "noise.txt").write_text(elki_block("noise", [5, 4], noise=True))
        (draft,) = read_drafts(folder)
        assert draft.build() == SubspaceClustering.from_clusters(
            [([0, 2], [0, 2]), ([1], [1])], shape=(5, 3)
        )
        assert draft.rows_known and draft.features_known
        assert draft.cluster_names == ("cluster_2", "cluster_10")
        assert draft.provenance["algorithm"] == "clustering.subspace.PROCLUS"

    @pytest.mark.parametrize("row", ["[ 1.0 ]", "[ ]"])
    def test_a_matrix_with_a_short_row_is_damaged(self, write, row):
        facts = ["# Weak Eigenvectors:", "# [ 1.0, 0.0 ]", f"# {row}"]
        with pytest.raises(FileFormatError, match="the Weak Eigenvectors of c are damaged"):
            read_clusterings(write("a.txt", elki_block("c", [3, 7], *facts)))

    def test_rows_count_from_one_zero_or_as_the_settings_say(self, write):
        block = elki_block("c", [3, 7], *dims("Dimensions: [1]"))
        assert read_clusterings(write("a.txt", block))[0].cluster(0).rows.tolist() == [2, 6]
        zero = block + elki_block("d", [0], *dims("Dimensions: [2]"))
        assert read_clusterings(write("b.txt", zero))[0].cluster(0).rows.tolist() == [3, 7]
        said = "# Settings:\n# -dbc.startid 3\n" + block
        assert read_clusterings(write("c.txt", said))[0].cluster(0).rows.tolist() == [0, 4]
        with pytest.raises(FileFormatError, match="ID=0, before the first row"):
            read_clusterings(write("d.txt", said + elki_block("e", [0], *dims("Dimensions: [2]"))))

    def test_rows_after_the_last_clustered_one_are_unknown(self, write):
        text = elki_block("c", [1, 3], *dims("Dimensions: [1]"))
        assert not read_drafts(write("a.txt", text))[0].rows_known
        assert read_clusterings(write("a.txt", text), shape=(9, 3))[0].n_rows == 9
        whole = text + elki_block("d", [2], *dims("Dimensions: [2]"))
        assert read_drafts(write("b.txt", whole))[0].rows_known

    def test_empty_subspaces_are_noise(self, write):
        text = (
            elki_block("root", [4], *dims("Dimensions: []"))
            + elki_block("v08", [3], *dims("Dimensions:]"))
            + elki_block("c", [1, 2], *dims("Dimensions: [2]"))
        )
        (clustering,) = read_clusterings(write("dish.txt", text))
        assert clustering.labels().tolist() == [0, 0, -1, -1]
        assert clustering.subspaces.masks.tolist() == [[False, True, False]]

    def test_labels_after_the_values_are_no_features(self, write):
        text = elki_block("c", [1, 2], values="0.1 -2e-3 lab0").replace("# Cluster Mean", "# M")
        with pytest.warns(UserWarning, match="names no subspaces"):
            (clustering,) = read_clusterings(write("a.txt", text))
        assert clustering.shape == (2, 2)

    def test_weak_eigenvectors_are_the_subspace(self, write):
        facts = (
            f"{ELKI_MODEL}CorrelationModel",
            "# Centroid: 0.4 0.2 0.1",
            "# Strong Eigenvectors:",
            "# [", "#  [ 0.6, 0.0 ]", "#  [ 0.8, 0.0 ]", "#  [ 0.0, 1.0 ]", "# ]",
            "# Weak Eigenvectors:",
            "# [", "#  [ -0.80000001 ]", "#  [  0.6 ]", "#  [ 0 ]", "# ]",
            "# Eigenvalues: 0.06 0.00 0.00",
            "# Parents: [noise]",
        )  # fmt: skip
        text = elki_block("[1_0]", [1, 2], *facts) + elki_block("[noise]", [3], noise=True)
        (clustering,) = read_clusterings(write("eric.txt", text))
        expected = SubspaceClustering.from_labels(
            [0, 0, -1], bases=[np.array([[-0.8], [0.6], [0.0]])]
        )
        assert clustering.isclose(expected, atol=1e-7)

    def test_equations_span_the_subspace(self, write):
        facts = (
            f"{ELKI_MODEL}LinearEquationModel",
            "# ",
            "#  + 1.000000 * x_2 + 0.000000 * x_1 - 1.000000 * x_0 = + 0.321616",
            "#  + 0.000000 * x_2 + 2.000000 * x_1 + 0.000000 * x_0 = - 0.062818",
        )
        (clustering,) = read_clusterings(write("cash.txt", elki_block("c", [1, 2], *facts)))
        assert clustering.kind == "oriented"
        assert clustering.subspaces.dims.tolist() == [2]
        # The only direction left is (1, 0, 1): nothing is said about moving along it.
        basis = clustering.subspaces.bases[0]
        assert np.abs(np.array([1.0, 0.0, 1.0]) @ basis).max() < 1e-12

    @given(seeds, shapes, st.booleans())
    def test_round_trip(self, tmp_path_factory, seed, shape, disjoint):
        rng = np.random.default_rng(seed)
        folder = tmp_path_factory.mktemp("elki")
        for i, made in enumerate(
            (
                random_axis(rng, shape, disjoint=disjoint),
                random_oriented(rng, shape, row_disjoint=disjoint),
            )
        ):
            (back,) = read_clusterings(write_clusterings(folder / f"{i}.elki", made))
            assert back.isclose(made, atol=1e-12)
            assert back.shape == made.shape

    def test_no_clusters(self, tmp_path):
        nothing = SubspaceClustering.from_clusters([], shape=(7, 3))
        assert read_clusterings(write_clusterings(tmp_path / "c.elki", nothing)) == [nothing]

    def test_a_cluster_of_no_dimensions_is_refused(self, tmp_path):
        flat = SubspaceClustering.from_labels([0, 0], bases=[np.zeros((3, 0))])
        with pytest.raises(UnsupportedKindError, match="0 dimensions for noise"):
            write_clusterings(tmp_path / "c.elki", flat)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (elki_block("c", [1, 2])[:-20], "c should have 2 rows, but 1 are there"),
            ("# Cluster: c\nID=x\n", "line 2: 'ID=x' is no row number"),
            ("# Cluster: c\nhello\n", "line 2: expected ID="),
            ("# Cluster: c\nID=-4\n", "ID=-4, before the first row"),
            (elki_block("c", [1], *dims("Dimensions: [0]")), "dimension 0"),
            (
                elki_block("c", [1], *dims("Dimensions: [1]"))
                + elki_block("d", [2], "#  + 1.0 * x_0 = + 2"),
                "mixes clusters with dims and equations",
            ),
            (
                elki_block("c", [1], "#  + 1.0 * x_0 = + 2") + elki_block("d", [2]),
                "no subspace is given for 'd'",
            ),
        ],
    )
    def test_damaged(self, write, text, message):
        with pytest.raises(FileFormatError, match=message):
            read_clusterings(write("r.txt", text))

    def test_a_folder_of_other_things(self, tmp_path):
        (tmp_path / "notes.txt").write_text("label\n0\n")
        with pytest.raises(
            FileFormatError, match="holds neither a study nor a result of ELKI; give a file"
        ):
            read_clusterings(tmp_path)


class TestAnyFormat:
    @given(seeds, shapes)
    def test_subscape_holds_everything(self, tmp_path_factory, seed, shape):
        made = any_clustering(np.random.default_rng(seed), shape)
        path = tmp_path_factory.mktemp("any") / "c.subscape"
        assert read_clusterings(write_clusterings(path, made)) == [made]

    def test_names_of_clusterings(self, tmp_path, overlapping):
        path = tmp_path / "c.subscape"
        write_clusterings(path, [overlapping, overlapping.select([0])], names=["one", "two"])
        assert [draft.name for draft in read_drafts(path)] == ["one", "two"]

    def test_feature_names_that_differ(self, tmp_path, overlapping):
        path = save(tmp_path / "c.subscape", overlapping.with_names(feature_names=list("abc")))
        assert read_clusterings(path, feature_names=list("abc"))[0].feature_names == tuple("abc")
        with pytest.raises(ShapeMismatchError, match="names its features otherwise"):
            read_clusterings(path, feature_names=list("xyz"))

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no such file: .*nope\.csv"):
            read_clusterings(tmp_path / "nope.csv")

    def test_content_counts_and_not_the_suffix(self, tmp_path, overlapping):
        save(tmp_path / "c.subscape", overlapping)
        (tmp_path / "c.subscape").rename(tmp_path / "c.csv")
        assert read_clusterings(tmp_path / "c.csv") == [overlapping]

    def test_what_is_no_clustering(self, tmp_path):
        for name, content, message in (
            *(("a.csv", pickle.dumps([1, 2], protocol), "is a pickle, which is never read")
              for protocol in (2, 3, 4, 5)),
            ("a.subscape", pickle.dumps([1, 2]), "is a pickle, which is never read"),
            ("a.subscape", b"\x80\x01 no pickle", r"not a \.subscape file"),
            ("a.subscape", b"label\n0\n", r"not a \.subscape file"),
            ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not a clustering"),
            ("a.xlsx", b"PK\x03\x04 nonsense", "damaged or truncated"),
        ):  # fmt: skip
            (tmp_path / name).write_bytes(content)
            with pytest.raises(FileFormatError, match=message):
                read_clusterings(tmp_path / name)

    def test_a_format_may_be_said(self, write):
        path = write("list.txt", "GLASS\n1 1 0 1 4\n")
        (clustering,) = read_clusterings(path, format="opensubspace")
        assert clustering.subspaces.masks.tolist() == [[True, True, False]]
        with pytest.raises(SubscapeError, match="there is no format 'weka'"):
            read_clusterings(path, format="weka")

    def test_an_existing_file_is_refused_and_left_alone(self, tmp_path, overlapping):
        for name in ("c.subscape", "c.true", "c.elki", "c.csv"):
            path = tmp_path / name
            path.write_text("mine")
            with pytest.raises(FileExistsError, match="--force"):
                write_clusterings(path, overlapping, lossy=True)
            assert path.read_text() == "mine"
            write_clusterings(path, overlapping, lossy=True, force=True)
            assert path.read_text(errors="replace") != "mine"

    def test_which_format_to_write(self, tmp_path, overlapping):
        with pytest.raises(SubscapeError, match=r"suffix of c\.txt names no format"):
            write_clusterings(tmp_path / "c.txt", overlapping)
        written = write_clusterings(tmp_path / "c.txt", overlapping, format="elki")
        assert read_clusterings(written) == [overlapping]
        with pytest.raises(SubscapeError, match="there is no format 'weka'"):
            write_clusterings(tmp_path / "d.txt", overlapping, format="weka")
        with pytest.raises(SubscapeError, match="can't be of format 'labels'"):
            write_clusterings(tmp_path / "d.subscape", overlapping, format="labels")
        assert sorted(p.name for p in tmp_path.iterdir()) == ["c.txt"]

    def test_what_cannot_be_held_is_refused(self, tmp_path, overlapping):
        rng = np.random.default_rng(0)
        soft = SubspaceClustering([[0.75, 0.5, 0.0], [0.25, 0.5, 1.0]], AxisSubspaces(np.eye(2)))
        weighted, oriented = random_weighted(rng, (6, 3)), random_oriented(rng, (6, 3))
        for name, clustering, message in (
            ("c.csv", overlapping, r"rows in several clusters; write \.subscape or \.true"),
            ("c.csv", soft, r"soft memberships; write \.subscape, or say lossy=True"),
            ("c.true", soft, r"an OpenSubspace file can't hold soft memberships"),
            ("c.true", weighted, "can't hold feature weights"),
            ("c.true", oriented, r"oriented bases; write \.subscape or \.elki"),
            ("c.elki", weighted, "an ELKI file can't hold feature weights"),
        ):
            with pytest.raises(UnsupportedKindError, match=message):
                write_clusterings(tmp_path / name, clustering)
        with pytest.raises(SubscapeError, match="holds one clustering, not 2"):
            write_clusterings(tmp_path / "c.true", [overlapping, overlapping])
        with pytest.warns(UserWarning, match="labels hold no subspaces"):
            write_clusterings(tmp_path / "d.csv", overlapping.select([0]))
        assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]

    def test_lossy_keeps_what_can_be_held(self, tmp_path):
        soft = SubspaceClustering(
            [[0.75, 0.5, 0.0], [0.25, 0.5, 1.0], [0.1, 0.1, 0.1]],
            WeightedSubspaces([[0.7, 0.2, 0.1], [0.1, 0.45, 0.45], [1.0, 0.0, 0.0]]),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            path = write_clusterings(tmp_path / "c.true", soft, lossy=True)
        assert read_clusterings(path) == [
            SubspaceClustering.from_clusters([([0, 1], [0]), ([2], [1, 2])], shape=(3, 3))
        ]
        assert labels_of(write_clusterings(tmp_path / "c.csv", soft, lossy=True)) == [0, 0, 1]

    def test_names_must_fit(self, tmp_path, overlapping):
        for names in (["a"], ["a", "a"]):
            with pytest.raises(SubscapeError, match="2 clusterings need as many distinct names"):
                write_clusterings(tmp_path / "c.csv", [overlapping] * 2, names=names, lossy=True)
        with pytest.raises(SubscapeError, match="no clusterings given"):
            write_clusterings(tmp_path / "c.csv", [])
        other = SubspaceClustering.from_labels([0, 1])
        with pytest.raises(SubscapeError, match="over different rows"):
            write_clusterings(tmp_path / "c.csv", [overlapping, other], lossy=True)


class TestTogether:
    def test_files_fill_each_others_gaps(self, write):
        true = write("found.true", "DIM=3;\n1 1 0 2 0 1\n")
        classes = write("classes.csv", "class\nfish\nbird\nfish\nbird\n")
        (found,), (known,) = read_together([true, classes])
        assert found.clustering == SubspaceClustering.from_clusters([([0, 1], [0, 1])], (4, 3))
        assert known.clustering == SubspaceClustering.from_labels([1, 0, 1, 0], n_features=3)
        assert (found.name, known.name) == ("found", "classes")
        assert known.cluster_names == ("bird", "fish")

    def test_the_longest_list_says_how_many_rows_if_nothing_else_does(self, write):
        a = write("a.true", "DIM=2;\n1 0 1 3\n")
        b = write("b.true", "DIM=2;\n1 1 1 8\n")
        (first,), (second,) = read_together([a, b])
        assert first.clustering.shape == second.clustering.shape == (9, 2)
        (first,), _ = read_together([a, b], shape=(20, 2))
        assert first.clustering.n_rows == 20

    def test_rows_are_brought_into_one_order(self, write):
        a = write("a.csv", "row,label\nx,0\ny,0\nz,1\n")
        b = write("b.csv", "row,label\nz,5\nx,4\ny,4\n")
        (first,), (second,) = read_together([a, b])
        assert second.clustering.row_names == ("x", "y", "z")
        assert second.clustering == first.clustering

    def test_names_tell_files_apart(self, tmp_path, write):
        (tmp_path / "sub").mkdir()
        texts = {"a.csv": "0\n1\n", "a.tsv": "0\n1\n", "sub/a.csv": "0\t1\n0\t1\n"}
        paths = [write(name, text) for name, text in texts.items()]
        assert [s.name for file in read_together(paths[:2]) for s in file] == ["a.csv", "a.tsv"]
        names = [s.name for file in read_together([paths[0], paths[2]]) for s in file]
        assert names == [str(paths[0]), f"{paths[2]}#1", f"{paths[2]}#2"]

    def test_different_tables_are_refused_by_name(self, write):
        a, b = write("a.csv", "0\n1\n"), write("b.csv", "0\n1\n1\n")
        message = r"a\.csv is about 2 rows, b\.csv about 3.*first line of b\.csv a header"
        with pytest.raises(ShapeMismatchError, match=message):
            read_together([a, b])
        c = write("c.csv", "0\n1\n1\n0\n")
        with pytest.raises(ShapeMismatchError, match=r"c\.csv about 4.*one table\.$"):
            read_together([a, c])


def test_the_last_coordinate_of_an_equation_counts(tmp_path):
    """Whoever numbers the features begins with 0, and no other line says how many there are."""
    path = tmp_path / "cash.txt"
    path.write_text(
        "# Cluster: c\n# Model class: LinearEquationModel\n# \n"
        "#  + 1.000000 * x_3 - 1.000000 * x_0 = + 0.3\nID=1\nID=2\n"
    )
    (clustering,) = read_clusterings(path)
    assert clustering.n_features == 4
    np.testing.assert_allclose(
        np.abs(clustering.subspaces.bases[0][:, 0]), [0.5**0.5, 0, 0, 0.5**0.5], atol=1e-12
    )


@pytest.mark.parametrize("first_is_full", [True, False])
def test_labels_lose_the_subspaces_of_any_of_several(tmp_path, first_is_full):
    full, part = (
        SubspaceClustering.from_labels([0, 1], masks=masks) for masks in ([[1, 1]] * 2, np.eye(2))
    )
    both = [full, part] if first_is_full else [part, full]
    with pytest.warns(UserWarning, match="labels hold no subspaces"):
        write_clusterings(tmp_path / "t.csv", both)
    for name, members, options in (("a", [full, full], {}), ("b", both, {"lossy": True})):
        write_clusterings(tmp_path / f"{name}.csv", members, **options)  # without a word


@pytest.mark.parametrize(("text", "line"), [("1 2\n1 2 3\n1 2\n", 2), ("1 2\n\n1 2\n1\n1 2\n", 4)])
def test_the_line_of_a_label_text_that_is_cut_is_named(tmp_path, text, line):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FileFormatError, match=rf"t\.csv, line {line}: \d cells? where the first"):
        read_clusterings(tmp_path / "t.csv")


def test_labels_of_different_rows_go_into_different_files(tmp_path):
    one, other = (
        SubspaceClustering.from_labels([0, 1], row_names=names)
        for names in (["a", "b"], ["a", "c"])
    )
    longer = SubspaceClustering.from_labels([0, 1, 1])
    plain = SubspaceClustering.from_labels([1, -1])
    for members in ([one, other], [plain, longer], [plain, plain, longer]):
        with pytest.raises(SubscapeError, match="different rows go into different label files"):
            write_clusterings(tmp_path / "t.csv", members)
    # Names of some do for all.
    write_clusterings(tmp_path / "t.csv", [plain, one], names=["x", "=y"])
    assert (tmp_path / "t.csv").read_text() == "row,x,'=y\na,0,0\nb,-1,1\n"

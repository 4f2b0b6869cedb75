import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import any_clustering, seeds, shapes

import subscape
from subscape.core import FileFormatError, SubscapeError, SubspaceClustering, assign, describe
from subscape.files import load, load_all, load_prototypes, save
from subscape.files.atomic import write_atomically


@pytest.fixture
def clustering():
    return SubspaceClustering.from_clusters(
        [([0, 1, 2], [0, 1]), ([2, 3], [2])],
        shape=(5, 3),
        feature_names=["a", "b", "ü,\n<c>"],
        row_names=list("vwxyz"),
        provenance={"algorithm": "PROCLUS", "parameters": {"n_clusters": 2}},
    )


def rewrite(path, edit=None, drop=(), add=None):
    """Copy an archive with a changed manifest, without or with other members."""
    with zipfile.ZipFile(path) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist()}
    manifest = json.loads(members["manifest.json"])
    if edit:
        edit(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members | (add or {})).items():
            if name not in drop:
                archive.writestr(name, content)


class TestRoundTrip:
    @given(seeds, shapes)
    def test_every_kind_is_lossless(self, tmp_path_factory, seed, shape):
        c = any_clustering(np.random.default_rng(seed), shape)
        path = tmp_path_factory.mktemp("files") / "c.subscape"
        assert load(save(path, c)) == c

    def test_names_and_provenance_survive(self, tmp_path, clustering):
        back = load(save(tmp_path / "c.subscape", clustering))
        assert back.feature_names == clustering.feature_names
        assert back.row_names == clustering.row_names
        assert back.provenance == clustering.provenance

    def test_several(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", [clustering, clustering.select([0])], names=["x", "y"])
        assert load(path) == [clustering, clustering.select([0])]
        assert load(save(tmp_path / "one.subscape", [clustering])) == [clustering]
        assert load_all(save(tmp_path / "o.subscape", clustering)) == [clustering]

    def test_empty_clustering(self, tmp_path):
        c = SubspaceClustering.from_labels([-1, -1], n_features=3)
        assert load(save(tmp_path / "c.subscape", c)) == c

    def test_same_content_same_bytes(self, tmp_path, clustering):
        one, two = (save(tmp_path / name, clustering) for name in ("a.subscape", "b.subscape"))
        assert one.read_bytes() == two.read_bytes()


class TestPrototypes:
    def test_new_rows_are_assigned_from_the_file_alone(self, tmp_path, clustering):
        X = np.random.default_rng(0).normal(size=(5, 3))
        before = describe(X, clustering)
        [after] = load_prototypes(save(tmp_path / "c.subscape", clustering, prototypes=before))
        assert after.sentences() == before.sentences()
        new = np.random.default_rng(1).normal(size=(20, 3))
        np.testing.assert_array_equal(assign(new, after), assign(new, before))

    def test_none_where_none_were_saved(self, tmp_path, clustering):
        assert load_prototypes(save(tmp_path / "c.subscape", clustering)) == [None]

    def test_prototypes_of_another_clustering(self, tmp_path, clustering):
        other = describe(np.eye(5)[:, :2], [0, 0, 0, 1, 1])
        with pytest.raises(SubscapeError, match="another clustering"):
            save(tmp_path / "c.subscape", clustering, prototypes=other)
        assert list(tmp_path.iterdir()) == []


class TestWriting:
    def test_existing_file_needs_force(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match="force"):
            save(path, clustering.select([0]))
        assert path.read_bytes() == before
        assert load(save(path, clustering.select([0]), force=True)) == clustering.select([0])

    def test_nothing_is_left_when_writing_fails(self, tmp_path):
        def fail(stream):
            stream.write(b"half")
            raise OSError("no space left on device")

        with pytest.raises(OSError, match="no space"):
            write_atomically(tmp_path / "x", fail)
        assert list(tmp_path.iterdir()) == []

    def test_a_failed_write_keeps_the_old_file(self, tmp_path):
        (tmp_path / "x").write_text("old")

        def fail(stream):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_atomically(tmp_path / "x", fail, force=True)
        assert (tmp_path / "x").read_text() == "old"
        assert os.listdir(tmp_path) == ["x"]

    def test_missing_folder(self, tmp_path, clustering):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            save(tmp_path / "no" / "c.subscape", clustering)

    def test_what_is_not_a_clustering(self, tmp_path, clustering):
        with pytest.raises(TypeError, match="entry 1 is a list"):
            save(tmp_path / "c.subscape", [clustering, [0, 1]])
        with pytest.raises(SubscapeError, match="JSON"):
            save(tmp_path / "c.subscape", clustering, metadata={"x": {1, 2}})
        assert list(tmp_path.iterdir()) == []


class TestRefused:
    def test_truncated(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        whole = path.read_bytes()
        for size in (10, len(whole) // 2, len(whole) - 5):
            path.write_bytes(whole[:size])
            with pytest.raises(FileFormatError, match="damaged or truncated"):
                load(path)

    def test_flipped_bits(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        whole = bytearray(path.read_bytes())
        whole[200] ^= 0xFF
        path.write_bytes(bytes(whole))
        with pytest.raises(FileFormatError):
            load(path)

    def test_newer(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        rewrite(path, lambda m: m.update(format="subscape/2"))
        with pytest.raises(FileFormatError, match="format subscape/2, this version reads"):
            load(path)

    def test_other_zip(self, tmp_path):
        path = tmp_path / "c.subscape"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.txt", "hello")
        with pytest.raises(FileFormatError, match=r"no manifest\.json"):
            load(path)

    def test_pickle(self, tmp_path, clustering):
        path = tmp_path / "c.subscape"
        path.write_bytes(pickle.dumps(clustering))
        with pytest.raises(FileFormatError, match="pickle, which is never read"):
            load(path)

    def test_pickled_array_inside(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        bomb = tmp_path / "bomb.npy"
        np.save(bomb, np.array([{"x": 1}], dtype=object), allow_pickle=True)

        def edit(manifest):
            manifest["arrays"]["clustering0_indices"] = {"dtype": "|O", "shape": [1]}

        rewrite(path, edit, add={"clustering0_indices.npy": bomb.read_bytes()})
        with pytest.raises(FileFormatError, match="pickled objects"):
            load(path)

    def test_zip_bomb(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        rewrite(path, add={"big.npy": b"\0" * 200_000_000})
        with pytest.raises(FileFormatError, match="max_bytes"):
            load(path, max_bytes=10_000_000)

    def test_sizes_that_lie(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)

        def edit(manifest):
            manifest["arrays"]["clustering0_indices"]["shape"] = [10**9]

        rewrite(path, edit)
        with pytest.raises(FileFormatError, match="its shape"):
            load(path)

    def test_rows_outside_the_table(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        rewrite(path, lambda m: m["clusterings"][0].update(n_rows=2, row_names=None))
        with pytest.raises(FileFormatError, match="don't fit"):
            load(path)

    @pytest.mark.parametrize("stated", [9, 20, 1000])
    def test_features_that_the_masks_do_not_have(self, tmp_path, stated):
        given = SubspaceClustering.from_labels([0, 1], masks=np.eye(2, 8, dtype=bool))
        path = save(tmp_path / "c.subscape", given)
        rewrite(path, lambda m: m["clusterings"][0].update(n_features=stated))
        with pytest.raises(FileFormatError, match=f"{stated:,} features are stated, the masks"):
            load(path)

    def test_masks_in_a_row(self, tmp_path):
        path = save(tmp_path / "c.subscape", SubspaceClustering.from_labels([0], n_features=8))
        flat = io.BytesIO()
        np.save(flat, np.array([255], np.uint8))

        def edit(manifest):
            manifest["arrays"]["clustering0_masks"]["shape"] = [1]

        rewrite(path, edit, add={"clustering0_masks.npy": flat.getvalue()})
        with pytest.raises(FileFormatError, match="8 features are stated, the masks have others"):
            load(path)

    def test_missing_array(self, tmp_path, clustering):
        path = save(tmp_path / "c.subscape", clustering)
        rewrite(path, drop=("clustering0_masks.npy",))
        with pytest.raises(FileFormatError, match="is missing"):
            load(path)

    def test_not_there_and_not_a_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "none.subscape")
        with pytest.raises(FileFormatError, match="folder"):
            load(tmp_path)
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(FileFormatError, match="no ZIP"):
            load(tmp_path / "t.csv")


def test_top_level_names():
    assert subscape.load is load
    assert subscape.save is save


def test_an_archive_has_neither_time_nor_rights_of_its_own(tmp_path):
    path = save(tmp_path / "c.subscape", SubspaceClustering.from_labels([0, 1]))
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            assert info.date_time == (2000, 1, 1, 0, 0, 0)
            assert info.compress_type == zipfile.ZIP_DEFLATED
            assert info.external_attr >> 16 == 0o644

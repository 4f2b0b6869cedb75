"""Real tables are read from a folder, scikit-learn and (a stand-in for) OpenML."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
from sklearn import datasets as bundled
from sklearn.utils import Bunch

from subscape.datasets import load_real, real_names
from subscape.datasets.real import BUNDLED, OPENML

CSV = """rowname,height,"sex, said",weight,class_1,class_2
a,1.5,m,70,-1,x
b,,f,60.25,2,y
c,1.75,,1e3,10,x
"""
META = {
    "people": {
        "rowname": True,
        "nominal": ["sex, said"],
        "labels": 2,
        "label_names": ["age", "town"],
        "note": "made up",
    },
    "gone": {"rowname": False, "nominal": [], "labels": 0},
    "broken": {"rowname": False, "nominal": [], "labels": 0},
    "bare": {"rowname": True, "nominal": [], "labels": 1},
    "../people": {},
    "iris": {"rowname": False, "nominal": [], "labels": 0},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def put(name, text):
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))

    put("people", CSV)
    put("bare", "rowname,class\na,b\n")
    put("iris", "x\n1\n2\n")
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n")[:-12])
    clusters = [{"rows": [0, 2], "dims": [0, 2]}, {"rows": [2, 1], "dims": [1]}]
    (tmp_path / "people.truth.json").write_text(json.dumps(clusters))
    (tmp_path / "meta.json").write_text(json.dumps(META))
    monkeypatch.setenv("SUBSCAPE_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def nowhere(monkeypatch):
    monkeypatch.delenv("SUBSCAPE_DATA", raising=False)


def test_folder(folder):
    data = load_real("people")
    table, labels, truth = data
    assert table.shape == (3, 3)
    assert table.feature_names == ("height", "sex, said", "weight")
    assert table.row_names == ("a", "b", "c")
    np.testing.assert_array_equal(table.X, [[1.5, 70], [np.nan, 60.25], [1.75, 1000]])
    assert table.values("sex, said").tolist() == ["m", "f", None]
    assert table.missing.sum() == 2
    assert {name: known.tolist() for name, known in labels.items()} == {
        "age": [-1, 0, 1],
        "town": [0, 1, 0],
    }
    assert table.roles["class_1"] == table.roles["class_2"] == "label"
    assert truth.n_clusters == 2
    assert truth.cluster(0).rows.tolist() == [0, 2]
    assert truth.cluster(0).features.tolist() == [0, 2]
    assert truth.cluster(1).rows.tolist() == [1, 2]
    assert truth.feature_names == table.feature_names
    assert (data.source, data.note) == ("folder", "made up")
    assert repr(data) == (
        "RealData('people' from folder: 3 x 3, labels 'age', 'town', 2 true subspace clusters)"
    )


def test_the_folder_comes_first_and_sources_can_be_chosen(folder):
    assert load_real("iris").table.shape == (2, 1)
    assert load_real("iris", source="sklearn").table.shape == (150, 4)
    assert real_names()["iris"] == ("folder", "sklearn")
    assert real_names()["people"] == ("folder",)
    assert load_real("iris").labels == {}
    assert load_real("iris").truth is None


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables_are_scikit_learns(nowhere, name):
    data = load_real(name)
    X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
    assert data.source == "sklearn"
    np.testing.assert_array_equal(data.table.to_numpy(), X)
    table = np.zeros((10, 10), dtype=int)
    np.add.at(table, (data.labels["class"], y), 1)
    assert (np.count_nonzero(table, axis=0) <= 1).all()
    assert (np.count_nonzero(table, axis=1) <= 1).all()
    assert data.table.labels().tolist() == data.labels["class"].tolist()


def answer(monkeypatch, reply):
    asked = []

    def fetch_openml(name, **options):
        asked.append((name, options["version"]))
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr(bundled, "fetch_openml", fetch_openml)
    return asked


def titanic(n=2201, features=("Class", "Age", "Sex")):
    data = np.zeros((n, len(features)))
    data[1, 0], data[2, 1], data[3, 2] = 1, np.nan, 37.5
    target = np.array(["no", "yes"] * (n // 2) + ["no"] * (n % 2), dtype=object)
    return Bunch(
        data=data,
        target=target,
        feature_names=list(features),
        categories={"Class": ["crew", "1st"], features[1]: ["adult", "child"]},
    )


def test_openml_is_asked_last(nowhere, monkeypatch):
    asked = answer(monkeypatch, titanic())
    table, labels, truth = load_real("titanic")
    assert asked == [("Titanic", 2)]
    assert table.shape == (2201, 3)
    assert table.values("Class")[:3].tolist() == ["crew", "1st", "crew"]
    assert table.values("Age")[:3].tolist() == ["adult", "adult", None]
    assert table.values("Sex")[3] == 37.5
    assert labels["class"][:4].tolist() == [0, 1, 0, 1]
    assert truth is None


def test_openml_features_called_class_keep_their_name(nowhere, monkeypatch):
    answer(monkeypatch, titanic(features=("Class", "Age", "class")))
    data = load_real("titanic")
    assert data.table.feature_names == ("Class", "Age", "class")
    assert data.labels["class"][:2].tolist() == [0, 1]


def test_another_table_of_that_name_is_refused(nowhere, monkeypatch):
    answer(monkeypatch, titanic(n=1309))
    with pytest.raises(ValueError, match=r"has 1309 x 3 values, not 2201 x 3.*SUBSCAPE_DATA"):
        load_real("titanic")


#: Rows and features as the papers give them that use the tables, and where OpenML keeps these.
KNOWN = """
    abalone          abalone                     1   4177     8
    car              car                         1   1728     6
    chess_krkp       kr-vs-kp                    1   3196    36
    colic            colic                       2    368    22
    controlchart_raw synthetic_control           1    600    60
    ecoli            ecoli                       1    336     7
    eucalyptus       eucalyptus                  1    736    19
    german_credit    credit-g                    1   1000    20
    glass            glass                       1    214     9
    golub            leukemia                    1     72  7129
    hepatitis        hepatitis                   1    155    19
    ionosphere       ionosphere                  1    351    34
    letter           letter                      1  20000    16
    mushroom         mushroom                    1   8124    22
    pima_diabetes    diabetes                    1    768     8
    postoperative    postoperative-patient-data  1     90     8
    segmentation     segment                     1   2310    19
    sick             sick                        1   3772    29
    sonar            sonar                       1    208    60
    splice           splice                      1   3190    60
    tictactoe        tic-tac-toe                 1    958     9
    titanic          Titanic                     2   2201     3
    vehicle          vehicle                     1    846    18
    waveform5000     waveform-5000               1   5000    40
    yeast            yeast                       1   1484     8
"""


@pytest.mark.parametrize("line", KNOWN.strip().splitlines())
def test_tables_of_openml_are_those_of_the_papers(nowhere, monkeypatch, line):
    name, theirs, version, n, p = line.split()
    assert len(KNOWN.strip().splitlines()) == len(OPENML)
    for rows, columns in ((int(n) + 1, int(p)), (int(n), int(p) + 1), (int(n), int(p))):
        made = Bunch(
            data=np.zeros((rows, columns)), target=np.arange(rows) % 2, categories={},
            feature_names=[f"f{j}" for j in range(columns)],
        )  # fmt: skip
        asked = answer(monkeypatch, made)
        if (rows, columns) == (int(n), int(p)):
            assert load_real(name, source="openml").table.shape == (rows, columns)
        else:
            with pytest.raises(ValueError, match=f"{rows} x {columns} values, not {n} x {p}: "):
                load_real(name, source="openml")
        assert asked == [(theirs, int(version))]


@pytest.mark.parametrize("reply", [URLError("no route"), ValueError("no such data")])
def test_without_network_it_is_said_what_to_do(nowhere, monkeypatch, reply):
    answer(monkeypatch, reply)
    with pytest.raises(ValueError, match=r"(?s)'glass' is not at hand.*SUBSCAPE_DATA"):
        load_real("glass")


def test_unknown_names(nowhere):
    with pytest.raises(ValueError, match=r"no table 'iriss': there are abalone, .*SUBSCAPE_DATA"):
        load_real("iriss")
    with pytest.raises(ValueError, match="no table 'glass' from sklearn: there are breast_cancer"):
        load_real("glass", source="sklearn")
    with pytest.raises(ValueError, match="set SUBSCAPE_DATA"):
        load_real("glass", source="folder")
    with pytest.raises(ValueError, match="source must be"):
        load_real("glass", source="web")
    assert not set(OPENML) & set(BUNDLED)
    assert set(real_names()) == {*OPENML, *BUNDLED}


def test_broken_folders(folder, monkeypatch):
    with pytest.raises(ValueError, match=r"but not 'gone.csv.gz'"):
        load_real("gone")
    with pytest.raises(ValueError, match=r"broken.csv.gz' cannot be read"):
        load_real("broken")
    with pytest.raises(ValueError, match="leaves no feature"):
        load_real("bare")
    with pytest.raises(ValueError, match="is no name of a table"):
        load_real("../people")
    with pytest.raises(ValueError, match="no table 'glass' from folder: there are "):
        load_real("glass", source="folder")
    (folder / "meta.json").write_text("{")
    with pytest.raises(ValueError, match="not what load_real reads"):
        load_real("people")
    monkeypatch.setenv("SUBSCAPE_DATA", str(folder / "else"))
    with pytest.raises(ValueError, match=r"has no meta\.json"):
        load_real("people")


def test_text_in_a_numeric_column_is_named(folder):
    (folder / "people.csv.gz").write_bytes(gzip.compress(CSV.replace("60.25", "heavy").encode()))
    with pytest.raises(ValueError, match="heavy"):
        load_real("people")


def test_importing_the_package_loads_neither_scikit_learn_nor_pyarrow():
    code = (
        "import sys, subscape.datasets; "
        "print([m for m in ('sklearn', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

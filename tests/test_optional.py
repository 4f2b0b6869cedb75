"""A missing optional dependency names the extra to install, from every entry point.

Each package is hidden in a fresh interpreter, in which everything that needs it is then tried.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

#: Hidden package -> the extra, set-up, and what needs it: Python expressions and command lines.
CASES = {
    "matplotlib": (
        "report",
        """
        from subscape import plots
        from subscape.datasets import planted_axes
        from subscape.finders import LAC
        X, truth = planted_axes(40, 4, n_clusters=2, dims=2, random_state=0)
        import numpy as np
        from subscape import pl, report
        from subscape.testing.studies import planted_study
        import anndata
        study = planted_study(60, n_clusters=(2,), results=())
        study.save("study")
        adata = anndata.AnnData(np.zeros(study.shape))
        adata.var_names = list(study.feature_names)
        study.write_anndata(adata)
        """,
        {
            "a picture": "plots.CellsDisplay.from_clustering(truth)",
            "colours": "plots.CellsDisplay.from_clustering(truth, ax=object())",
            "shared cells": "plots.IntersectionsDisplay.from_clusterings(truth, truth)",
            "views": "plots.ViewsDisplay.from_clusterings(X, [truth, truth])",
            "a matrix": "plots.DistanceMatrixDisplay.from_clusterings([truth, truth])",
            "the command": "command('matrix', 'a.csv', 'b.csv', '--plot', 'm.png')",
            "figures": "command('figures', 'study')",
            "figures in Python": "report.write_figures(study, 'figures')",
            "pl": "pl.views(adata)",
            "choose": "command('choose', 'LAC', 'a.csv', '--grid', 'h=1', '--plot', 'c.svg')",
            "validate": "command('validate', 'a.csv', 'b.csv', '--plot', 'c.svg')",
        },
    ),
    "anndata": (
        "anndata",
        """
        import h5py, numpy as np
        import subscape
        from subscape.testing.studies import planted_study
        planted_study(60, n_clusters=(2,), results=()).save("study")
        with h5py.File("cells.h5ad", "w") as file:
            file["X"] = np.zeros((4, 2))
        """,
        {
            "a file": "subscape.Table.read('cells.h5ad')",
            "explore": "subscape.explore('cells.h5ad')",
            "tl": "subscape.tl.explore(None)",
            "pl": "subscape.pl.views(None)",
            "the command": "command('explore', 'cells.h5ad')",
            "fit": "command('fit', 'LAC', 'cells.h5ad', '-p', 'n_clusters=2')",
            "choose": "command('choose', 'LAC', 'cells.h5ad', '--grid', 'n_clusters=2:3')",
            "validate": "command('validate', 'a.csv', 'cells.h5ad', '--finder', 'LAC')",
            "alternatives": "command('alternatives', 'cells.h5ad')",
            "consensus": "command('consensus', 'a.csv', 'b.csv', '--table', 'cells.h5ad')",
            "predict": "command('predict', 'study', 'cells.h5ad')",
        },
    ),
    "distributed": (
        "dask",
        """
        from subscape.parallel import distributed as ours
        """,
        {
            "a cluster": "ours.connected('tcp://127.0.0.1:1').__enter__()",
            "the command": "command('explore', 'a.csv', '--cluster', 'tcp://127.0.0.1:1')",
        },
    ),
    "dask": (
        "dask",
        """
        from subscape.parallel import distributed as ours
        """,
        {
            "a cluster": "ours.connected('tcp://127.0.0.1:1').__enter__()",
            "the command": "command('explore', 'a.csv', '--cluster', 'tcp://127.0.0.1:1')",
        },
    ),
    "array_api_compat": (
        "gpu",
        """
        import array_api_strict
        from subscape.finders import LAC
        X = array_api_strict.asarray([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
        """,
        {"an array of a device": "LAC(2).fit(X)"},
    ),
    "pymetis": (
        "graph",
        """
        import numpy as np
        from subscape.ensemble import CSPA, HGPA, MCLA, HBGF, WBPA, WSPA
        parts = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
        X = np.arange(12.0).reshape(6, 2)
        """,
        {
            "CSPA": "CSPA(2, partitioner='metis').fit(parts)",
            "HBGF": "HBGF(2, partitioner='metis').fit(parts)",
            "HGPA": "HGPA(2, partitioner='metis').fit(parts)",
            "MCLA": "MCLA(2, partitioner='metis').fit(parts)",
            "WBPA": "WBPA(2, partitioner='metis').fit(parts, X)",
            "WSPA": "WSPA(2, partitioner='metis').fit(parts, X)",
            "the command": "command('consensus', 'a.csv', 'b.csv', '-k', '2', '--method', 'cspa', "
            "'--as-published')",
        },
    ),
    "moocore": (
        "pareto",
        """
        from subscape.ensemble import MOEAPCE
        parts = [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 2, 2]]
        """,
        {
            "MOEAPCE": "MOEAPCE(2).fit(parts)",
            "the command": "command('consensus', 'a.csv', 'b.csv', '-k', '2', '--method', 'moea')",
        },
    ),
    "python_calamine": (
        "excel",
        """
        import subscape, zipfile
        with zipfile.ZipFile("book.xlsx", "w") as file:
            file.writestr("[Content_Types].xml", "<Types/>")
            file.writestr("xl/workbook.xml", "<workbook/>")
        """,
        {
            "a workbook": "subscape.Table.read('book.xlsx')",
            "the command": "command('explore', 'book.xlsx')",
        },
    ),
    "pandas": (
        None,
        "from subscape.core.plain_values import frame_of",
        {"a frame": "frame_of([{'a': 1}])"},
    ),
}

FRAME = """
import json, sys
hidden = {hidden!r}
for name in [name for name in sys.modules if name.split(".")[0] == hidden]:
    del sys.modules[name]
sys.modules[hidden] = None

def command(*arguments):
    from click.testing import CliRunner
    from subscape.cli.main import cli
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2, (done.exit_code, done.output, done.exception)
    assert "Traceback" not in done.output
    raise ImportError(done.output)

with open("a.csv", "w") as a, open("b.csv", "w") as b:
    a.write("label\\n" + "0\\n0\\n1\\n1\\n2\\n2\\n")
    b.write("label\\n" + "0\\n1\\n1\\n1\\n2\\n0\\n")
{setup}
said = {{}}
for what, code in json.loads({tried!r}).items():
    try:
        eval(code)
        said[what] = "nothing"
    except ImportError as error:
        said[what] = str(error)
    except Exception as error:
        said[what] = f"{{type(error).__name__}}: {{error}}"
print(json.dumps(said))
"""


@pytest.mark.parametrize("hidden", CASES)
def test_what_is_missing_is_named_with_its_extra(hidden, tmp_path):
    extra, setup, tried = CASES[hidden]
    code = FRAME.format(hidden=hidden, setup=textwrap.dedent(setup), tried=json.dumps(tried))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    # In quotation marks, because some shells take brackets for something else.
    wanted = f"pip install 'subscape[{extra}]'" if extra else f"pip install {hidden}"
    assert {what: text for what, text in said.items() if wanted not in text} == {}


EVERY_PICTURE = """
import doctest, json, sys
sys.modules["matplotlib"] = None
from subscape import plots

said = {}
for name in plots.__all__:
    display = getattr(plots, name)
    members = [member for member in vars(display).values() if isinstance(member, classmethod)]
    texts = [display.__doc__, *(member.__doc__ for member in members)]
    for text in texts:
        known = {}
        said.setdefault(name, [])
        for example in doctest.DocTestParser().get_examples(text or ""):
            try:
                exec(compile(example.source, name, "single"), known)
            except ImportError as error:
                said[name].append(str(error))
                break
print(json.dumps(said))
"""


def test_every_picture_names_the_extra_that_it_needs(tmp_path):
    """Whoever adds a picture has its examples tried here."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EVERY_PICTURE],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert len(said) >= 15
    assert {name: texts for name, texts in said.items() if not texts} == {}
    for texts in said.values():
        assert set(texts) == {"plots need matplotlib: pip install 'subscape[report]'"}


def test_every_optional_dependency_is_hidden_once():
    # pandas, h5py and others come with these; torch and cupy come without us.
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = ("report", "graph", "pareto", "anndata", "dask", "gpu", "excel")
    named = {
        re.match(r"[\w-]+", need)[0].replace("-", "_")
        for extra in extras
        for need in project["optional-dependencies"][extra]
    }
    assert named <= set(CASES)

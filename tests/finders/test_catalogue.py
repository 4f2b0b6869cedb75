"""The one catalogue: it is complete, it is the only one, and it knows what papers published."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import ClusterMixin, clone

import subscape
from subscape.core.errors import SubscapeError
from subscape.finders import DOC, PROCLUS
from subscape.finders.catalogue import (
    CATALOGUE,
    EFFORTS,
    ROLES,
    entry_of,
    find,
    of_role,
    tried_in,
)
from subscape.testing.finders import example_table

SOURCES = Path(subscape.__file__).parent
#: Own classes, which all have a paper to be compared with.
OWN = of_role("finder", "views", "alternative", "consensus")
IN_PAPERS = {name: entry for name, entry in OWN.items() if entry.published is not None}


def estimators() -> set[type]:
    """Every class of the package that is a clusterer, but for bases of others."""
    for module in pkgutil.walk_packages([str(SOURCES)], "subscape."):
        if not module.name.endswith("__main__") and ".plots" not in module.name:
            importlib.import_module(module.name)

    def below(cls: type) -> list[type]:
        return [one for child in cls.__subclasses__() for one in (child, *below(child))]

    found = {cls for cls in below(ClusterMixin) if cls.__module__.startswith("subscape.")}
    return {
        cls for cls in found
        if not cls.__subclasses__() or "\nParameters\n" in inspect.cleandoc(cls.__doc__ or "")
    }  # fmt: skip


def test_every_estimator_is_in_the_catalogue():
    assert {cls.__name__ for cls in estimators()} == set(OWN)
    assert {cls for cls in estimators()} == {entry.load() for entry in OWN.values()}


# -- nothing else lists finders -------------------------------------------------------------------


def names_in(node: ast.AST) -> set[str]:
    """Finders that a tuple, list, set or dictionary, or a text, has among its items."""
    if isinstance(node, ast.Dict):
        items = [*node.keys, *node.values]
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        items = node.elts
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split()
        return set(words) & set(CATALOGUE) if set(words) <= set(CATALOGUE) else set()
    else:
        return set()
    said = {item.value for item in items if isinstance(item, ast.Constant)}
    said |= {item.id for item in items if isinstance(item, ast.Name)}
    return {name for name in said if isinstance(name, str)} & set(CATALOGUE)


def called_in(tree: ast.AST) -> set[str]:
    """Finders that are passed by name, one call after another: a list as well."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    said = [each for call in calls for each in (*call.args, *(k.value for k in call.keywords))]
    return {each.value for each in said if isinstance(each, ast.Constant)} & set(CATALOGUE)


def lists_in(text: str) -> list[set[str]]:
    tree = ast.parse(text)
    found = [called_in(tree), *(names_in(node) for node in ast.walk(tree))]
    return [names for names in found if len(names) >= 3]


def may_list(path: Path) -> bool:
    """The catalogue, packages that load names when they are used, and a study that is made up."""
    place = path.relative_to(SOURCES).as_posix()
    if place.startswith("finders/catalogue/") or place == "testing/studies.py":
        return True
    return path.name == "__init__.py" and "lazy_names" in path.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "best = ('PROCLUS', 'LAC', 'KFlats')",
        "refs = {'PROCLUS': 1, 'LAC': 2, 'P3C': 3}",
        "all = [PROCLUS, LAC, CSPA]",
        "homes = {'axis': 'PROCLUS P3C DOC'}",
        "plan = [Run('LAC')]\nplan += [Run('P3C', k) for k in (2, 3)]\nlast = Run(name='DOC')",
    ],
)
def test_a_list_of_finders_is_recognised(text):
    assert len(lists_in(text)) == 1


def test_finders_are_listed_nowhere_else():
    listed = {
        path.relative_to(SOURCES).as_posix(): lists
        for path in SOURCES.rglob("*.py")
        if not may_list(path) and (lists := lists_in(path.read_text()))
    }
    assert listed == {}


# -- entries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_an_entry_is_complete(entry):
    assert entry.role in ROLES
    assert entry.kind in ("axis", "weighted", "oriented", "cocluster", "rows")
    assert entry.sentence and entry.cost
    assert entry.doi.startswith("10.")
    assert re.search(r"(19|20)\d\d$", entry.reference)
    assert entry.load().__name__ == entry.name
    assert set(entry.needs) <= {"k", "ensemble", "table"} and set(entry.takes) <= {"given"}
    assert ("ensemble" in entry.needs) == (entry.role == "consensus") == bool(entry.options)
    if entry.role in ("consensus", "baseline"):
        assert entry.random == ("random_state" in entry.make().get_params())


@pytest.mark.parametrize("entry", OWN.values(), ids=OWN)
def test_the_docstring_names_the_paper(entry):
    assert entry.doi in entry.load().__doc__


def test_what_explore_tries_can_be_made():
    rungs = ("clouds", "views", "axis-aligned", "boxes", "oriented", "asked", "chance boxes")
    tried = [each for rung in rungs for each in tried_in(rung)]
    assert len(tried) == sum(len(entry.trials) for entry in CATALOGUE.values())
    for rung in rungs:
        ranks = [trial.rank for _, trial in tried_in(rung)]
        assert ranks == list(range(len(ranks))), (
            f"the ranks of {rung!r} are counted from 0, each once: {ranks}"
        )
    for entry, trial in tried:
        assert trial.efforts and set(trial.efforts) <= set(EFFORTS)
        assert trial.columns in ("all", "numeric", "directions")
        for settings in trial.settings([2, 3], 200):
            assert set(settings) <= set(entry.make().get_params())
            assert not entry.needs_k or trial.numbers in settings


def test_a_misspelt_finder_gets_a_hint():
    with pytest.raises(ValueError, match="Did you mean PROCLUS"):
        find("proklus")


def test_others_than_asked_for_are_sent_to_their_command():
    with pytest.raises(ValueError, match="'subscape consensus' runs it"):
        find("CSPA", "finder", "views")
    with pytest.raises(ValueError, match="'subscape fit' runs it"):
        find("nrkmeans", "finder")


def test_a_class_of_others_has_no_entry():
    class PROCLUS(ClusterMixin):  # the name alone does not count
        pass

    with pytest.raises(SubscapeError, match="not in the catalogue"):
        entry_of(PROCLUS)


# -- as published ---------------------------------------------------------------------------------


def section(cls: type) -> str:
    """What a docstring says about differences from the paper."""
    text = inspect.getdoc(cls)
    head = "\nDifferences from the paper\n--------------------------\n"
    assert text.count(head) == 1
    return re.split(r"\n\n\w[\w ]*\n-+\n", text.partition(head)[2])[0]


@pytest.mark.parametrize("entry", OWN.values(), ids=OWN)
def test_differences_are_told(entry):
    told = section(entry.load())
    for name in {*(entry.published or {}), *entry.ours}:
        assert f"``{name}" in told, name


@pytest.mark.parametrize("entry", IN_PAPERS.values(), ids=IN_PAPERS)
def test_every_switch_is_set_as_the_paper_has_it(entry):
    cls = entry.load()
    paper, usual = cls.as_published(), cls()
    assert type(paper) is cls
    expected = {**usual.get_params(), **entry.published}
    assert paper.get_params() == expected == clone(paper).get_params()
    paper._validate_params()
    for name, values in entry.ours.items():
        # The default is ours, or it is among the values that are; otherwise nothing has to be set.
        if not values or usual.get_params()[name] in values:
            assert name in entry.published or not values
        assert expected[name] not in values


@pytest.mark.parametrize("entry", IN_PAPERS.values(), ids=IN_PAPERS)
def test_what_the_paper_does_not_have_is_refused(entry):
    cls = entry.load()
    for name, values in entry.ours.items():
        for value in values or (cls().get_params()[name],):
            with pytest.raises(SubscapeError, match=f"as published has no .*{name}") as caught:
                cls.as_published(**{name: value})
            assert f"{cls.__name__}({name}=" in str(caught.value)
    with pytest.raises(SubscapeError, match="has no parameter 'n_foo'"):
        cls.as_published(n_foo=3)


@pytest.mark.parametrize("entry", OWN.values(), ids=OWN)
def test_rows_that_may_be_left_out_go_by_one_name(entry):
    """A parameter that leaves rows in no cluster is called noise, and noise means just that."""
    text = inspect.getdoc(entry.load())
    told = dict(re.findall(r"^(\w+) : .*\n((?:    .*\n?)+)", text, re.MULTILINE))
    parameters = entry.make().get_params(deep=False)
    assert not [name for name in parameters if "outlier" in name]
    leaving = re.compile(r"(leave|left)( \w+)? out|(are|is) noise|rows? .*noise", re.IGNORECASE)
    if "noise" in parameters:
        assert leaving.search(" ".join(told["noise"].split()))


def test_a_subclass_is_published_as_its_base():
    class Mine(PROCLUS):
        pass

    assert type(Mine.as_published(n_clusters=4)) is Mine
    assert Mine.as_published().noise == "spheres"
    assert DOC.as_published().max_samples is None


def test_what_is_in_no_paper_has_no_published_version():
    others = {name: entry for name, entry in OWN.items() if name not in IN_PAPERS}
    assert "ResidualKMeans" in others
    for name, entry in others.items():
        with pytest.raises(SubscapeError, match=f"no paper describes {name}"):
            entry.load().as_published()


FINDERS = {
    name: entry
    for name, entry in IN_PAPERS.items()
    if entry.role in ("finder", "views", "alternative")
}


@pytest.mark.parametrize("entry", FINDERS.values(), ids=FINDERS)
def test_published_finders_find_something(entry):
    finder = entry.load().as_published()
    wanted = {"max_time": 20.0, "random_state": 0}
    finder.set_params(**{key: wanted[key] for key in wanted if key in finder.get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = finder.fit(example_table()).labels_
    assert labels.shape == (90,)


CONSENSUS = of_role("consensus")


@pytest.mark.parametrize("entry", CONSENSUS.values(), ids=CONSENSUS)
def test_published_consensus_methods_agree_with_equal_members(entry):
    X = example_table()[:, :2] + np.repeat([[0.0], [50.0]], 45, axis=0)
    member = np.repeat([0, 1], 45)
    method = entry.load().as_published(n_clusters=2)
    if "random_state" in method.get_params():
        method.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # EM-PCE can't tell clusters of the same features apart
        found = method.fit([member] * 4, X)
    assert found.labels_.shape == (90,)

"""The text of the page; how it behaves in a browser is tested in tests/browser."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from subscape.core import SubspaceClustering, WeightedSubspaces
from subscape.report import render, write_report
from subscape.report.drawings import MOST_ROWS, payload
from subscape.report.methods import methods
from subscape.testing.studies import planted_study

from .conftest import HOSTILE

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Reader(HTMLParser):
    """Tags with attributes, texts, and what is open at the end."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, text):
        if self.open and self.open[-1] in ("script", "style"):
            self.scripts.append(text)
        else:
            self.words.append(text)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]


@pytest.fixture(scope="module")
def page(study):
    return render(study)


@pytest.fixture(scope="module")
def odd_page(odd_study):
    return render(odd_study)


def embedded(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_finders_that_were_not_run_are_named_with_the_reason(study, page):
    assert "Not run on" not in page
    settings = {**study.settings, "not_run": "P3C (for 2 to 100 columns)"}
    told = render(dataclasses.replace(study, settings=settings))
    assert "Not run on a table of this shape: P3C (for 2 to 100 columns).</p>" in told
    assert told.count("P3C (for") == 1  # and not among the settings


@pytest.mark.parametrize("which", ["study", "odd_study", "nothing", "large_study"])
class TestEveryPage:
    def test_is_well_formed_and_ids_are_unique(self, which, request):
        reader = Reader(render(request.getfixturevalue(which)))
        assert reader.open == []
        ids = reader.attributes("id")
        assert len(ids) == len(set(ids))
        known = set(ids)
        for name in ("aria-labelledby", "aria-describedby", "aria-controls"):
            assert set(reader.attributes(name)) <= known
        assert {link[1:] for link in reader.attributes("href") if link.startswith("#")} <= known

    def test_asks_for_nothing_from_outside(self, which, request):
        page = render(request.getfixturevalue(which))
        assert not re.search(r"(?i)https?:|//[a-z]|@import|\burl\(", _without_data(page))
        reader = Reader(page)
        assert reader.attributes("src") == []
        assert [h for h in reader.attributes("href") if not h.startswith("#")] == ["data:,"]

    def test_has_no_handlers_and_no_inline_styles(self, which, request):
        reader = Reader(render(request.getfixturevalue(which)))
        names = {name for _, attributes in reader.tags for name in attributes}
        assert not [name for name in names if name.startswith("on")]
        assert "style" not in names

    def test_policy_lets_just_its_own_script_and_style_run(self, which, request):
        page = render(request.getfixturevalue(which))
        policy = next(
            a["content"] for t, a in Reader(page).tags if a.get("http-equiv", "").startswith("Cont")
        )
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
        script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert len(script) == 1
        for text in (style, script[0]):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy

    def test_is_the_same_every_time(self, which, request):
        study = request.getfixturevalue(which)
        assert render(study) == render(study)

    def test_tables_have_scopes(self, which, request):
        reader = Reader(render(request.getfixturevalue(which)))
        assert all("scope" in attributes for tag, attributes in reader.tags if tag == "th")


def _without_data(page: str) -> str:
    return re.sub(r'id="data">.*?</script>', "", page, flags=re.DOTALL)


class TestWords:
    def test_the_first_heading_is_the_verdict(self, study, page):
        first = re.search(r"<h1[^>]*>(.*?)</h1>", page)[1]
        rest = re.search(r'<p class="more">(.*?)</p>', page)[1]
        assert f"{first} {rest}" == study.verdict
        assert page.index("<h1") < page.index("<h2")

    def test_what_looks_numeric_and_is_not_used_stands_above_the_verdict(self, study):
        note = (
            "column 'w' looks like numbers and is not used as such: numbers in several units: kg "
            "(2), lb (2); give it the role numeric and the unit to keep (columns=…), and the "
            "others are missing ('3 lb' in line 4)"
        )
        told = dataclasses.replace(study, notes=(note, "another note"))
        assert told.not_used == (note,)
        page = render(told)
        above = page.partition('<h1 id="verdict">')[0]
        assert "numbers in several units: kg (2)" in above and "another note" not in above
        assert "(columns=… or --columns)" in above
        assert repr(told).startswith(f"Not used: {note}\n")
        assert f"Not used: {html.escape(note, quote=True)}" in told._repr_html_()
        text, _ = methods(told)
        assert "not used as such: numbers in several units: kg (2), lb (2). Another note." in text
        assert "Not used" not in render(study)
        many = tuple(note.replace("'w'", f"'w{j}'") for j in range(5))
        page = Reader(render(dataclasses.replace(study, notes=many))).text
        assert page.count("Not used:") == 3 and "And 2 more columns" in page

    def test_nothing_found(self, nothing):
        page = render(nothing)
        assert "No grouping better than chance" in re.search(r"<h1[^>]*>(.*?)</h1>", page)[1]
        assert 'class="scatter"' not in page and 'id="download"' not in page

    def test_provisional_is_said_only_then(self, page, odd_page):
        assert "Provisional." in Reader(odd_page).text
        assert "Provisional." not in Reader(page).text

    def test_views_that_are_chance_or_missingness_are_flagged(self, page, odd_page):
        text = Reader(odd_page).text
        assert "no better than chance" in text
        assert "explained by missing cells (70 %)" in text
        assert "View 3 mostly says which cells are missing" in text
        assert "25 % filled in" in text
        assert "explained by missing cells" not in Reader(page).text

    def test_clusters_have_sizes_features_and_effects(self, study, page):
        text = Reader(page).text
        view = study[1]
        for k, listed in enumerate(view.facts):
            assert view.descriptions[k] in text
            fact = next(fact for fact in listed if fact.is_own)
            assert f"{fact.effect:+.1f}".replace("-", "−") in text

    def test_truth_and_failures(self, odd_page):
        text = Reader(odd_page).text
        assert "Compared with known groups" in text and "0.90" in text
        assert "Leiden" not in text
        assert "1 run failed" in text

    def test_leiden_is_no_truth(self):
        views = [{"ari": 0.63, "nmi": 0.5}]
        known = ({"name": "Leiden, resolution 1", "views": views},)
        text = Reader(render(planted_study(60, n_clusters=(2,), results=(), truth=known))).text
        assert "Compared with known groups, and with Leiden" in text
        assert "are no truth" in text and "0.63" in text

    def test_methods_cite_the_finders_that_ran(self, study, page):
        text = Reader(page).text
        assert "doi:10.1145/3219819.3219945" in text  # NrKMeans
        assert "doi:10.1007/s10618-006-0060-8" in text  # LAC
        assert "doi:10.1145/304182.304188" not in text  # PROCLUS did not run
        numbers = [int(n) for n in re.findall(r"\[(\d+)\]", text[text.index("was explored") :])]
        assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))

    def test_what_subspaces_added(self, study):
        text = Reader(render(study)).text
        assert "views 2 and 3 were found only by finders that look for subspaces" in text

    def test_how_small_a_group_could_be_seen(self, large_study):
        part = dataclasses.replace(large_study, searched_rows=large_study.searched_rows[:2000])
        text = Reader(render(part)).text
        assert "A group with fewer than about 60 rows of the whole table could not be seen" in text
        assert "fewer than 20 of the 2 000 rows that were searched count as noise" in text
        few = Reader(render(planted_study(60))).text
        assert "A group with fewer than about 3 rows could not be seen" in few

    def test_a_page_of_a_part_of_the_rows_says_so(self, large_study):
        text = Reader(render(large_study)).text
        assert "The page holds 5 000 of 6 000 rows" in text


class TestHarm:
    def test_names_stay_text(self, odd_page):
        reader = Reader(odd_page)
        assert not [tag for tag, _ in reader.tags if tag in ("img", "b", "i", "iframe")]
        for name in HOSTILE[:3]:
            assert name in [*reader.attributes("title"), *reader.words]
        assert "{{ 7 * 7 }}" in odd_page and "49{" not in odd_page

    def test_scripts_end_where_they_should(self, odd_study):
        page = render(odd_study, embed_ids=True)
        assert page.count("</script>") == 2
        block = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
        assert not set("<>&") & set(block)
        assert embedded(page)["ids"][0].startswith("=person")

    def test_cells_of_the_label_file_are_no_formulas(self, odd_study):
        cells = payload(odd_study, embed_ids=True)["cells"]
        assert all(cell.startswith("'=person") for cell in cells)

    def test_names_of_rows_only_if_asked(self, odd_study):
        assert not re.search(r"person\d", render(odd_study))
        assert "person17" in render(odd_study, embed_ids=True)
        assert "It holds no names of rows." in render(odd_study)


class TestNumbers:
    def test_labels_survive_packing(self, odd_study):
        packed = embedded(render(odd_study))
        for view, told in zip(odd_study.views, packed["views"], strict=True):
            labels = np.frombuffer(base64.b64decode(told["labels"]), "<u2").astype(int) - 1
            np.testing.assert_array_equal(labels, view.labels[packed["rows"]])

    def test_rows_in_several_clusters_are_told(self, odd_study):
        packed = embedded(render(odd_study))
        view = odd_study[3]
        members = view.clustering.memberships.toarray()[:, packed["rows"]]
        told = dict(packed["views"][2]["several"])
        assert told == {
            int(i): np.flatnonzero(members[:, i]).tolist()
            for i in np.flatnonzero(members.sum(axis=0) > 1)
        }
        assert told

    def test_pairs_count_all_rows(self, odd_study):
        packed = embedded(render(odd_study))
        table = np.array(packed["pairs"]["1-2"])
        expected = np.zeros_like(table)
        np.add.at(expected, (odd_study[1].labels, odd_study[2].labels), 1)
        np.testing.assert_array_equal(table, expected)
        # The last row and column are the rows in no cluster.
        outside = int((odd_study[3].clustering.memberships.sum(axis=0) == 0).sum())
        assert np.array(packed["pairs"]["1-3"])[:, -1].sum() == outside

    def test_distances_survive_packing(self, study):
        packed = embedded(render(study))
        n = len(study.results)
        told = np.frombuffer(base64.b64decode(packed["matrix"]), np.uint8) / 255
        assert len(told) == n * (n - 1) // 2
        expected = np.sort(study.distances[np.triu_indices(n, 1)])
        np.testing.assert_allclose(np.sort(told), expected, atol=0.5 / 255)

    def test_coordinates_keep_their_order(self, study):
        packed = embedded(render(study))
        x = np.frombuffer(base64.b64decode(packed["views"][0]["x"]), "<u2").astype(float)
        given = study[1].coordinates[:, 0]
        assert np.corrcoef(x, given)[0, 1] > 1 - 1e-9
        assert x.min() == 0 and x.max() == 65535


class TestLimits:
    def test_size_with_five_thousand_rows_and_eight_views(self, large_study):
        page = render(large_study)
        assert len(embedded(page)["rows"]) == MOST_ROWS
        assert len(page.encode()) < 1_000_000

    def test_more_shown_rows_than_a_page_holds(self, study):
        view = study[1]
        many = planted_study(MOST_ROWS + 50)
        shown = np.arange(MOST_ROWS + 50)
        views = tuple(
            dataclasses.replace(v, coordinates=np.zeros((len(shown), 2))) for v in many.views
        )
        crowded = dataclasses.replace(many, shown_rows=shown, views=views)
        assert len(embedded(render(crowded))["rows"]) == MOST_ROWS
        assert view.n_clusters == 4

    def test_many_features_are_cut_down(self):
        names = tuple(f"feature_{j:04d}" for j in range(2000))
        study = planted_study(100)
        view = study[1]
        weights = np.full((view.n_clusters, 2000), 1 / 2000)
        clustering = SubspaceClustering(view.clustering.memberships, WeightedSubspaces(weights))
        fact = view.facts[0][0]
        facts = tuple(
            tuple(dataclasses.replace(fact, feature=name, is_own=True) for name in names)
            for _ in range(view.n_clusters)
        )
        wide = dataclasses.replace(
            view, clustering=clustering, facts=facts, loadings=np.ones((2000, 2))
        )
        study = dataclasses.replace(
            study,
            views=(wide,),
            between_views=np.ones((1, 1)),
            shape=(100, 2000),
            feature_names=names,
            table_schema=tuple({"name": name, "role": "numeric"} for name in names),
        )
        page = render(study)
        assert len(page.encode()) < 400_000
        assert "And 1850 more columns." in page

    def test_numbers_that_are_none(self, study):
        view = study[1]
        lost = dataclasses.replace(
            view,
            cluster_stability=np.full(view.n_clusters, np.nan),
            cluster_p_values=np.full(view.n_clusters, np.nan),
            replication=float("nan"),
            coordinates=np.full_like(view.coordinates, np.nan),
            loadings=np.zeros_like(view.loadings),
            row_confidence=np.full(study.shape[0], np.nan),
            facts=tuple(
                tuple(dataclasses.replace(f, low=np.nan, effect=np.nan) for f in listed)
                for listed in view.facts
            ),
        )
        page = render(dataclasses.replace(study, views=(lost, *study.views[1:]), chance=()))
        assert Reader(page).open == []
        assert "nan" not in Reader(page).text.replace("finance", "").split()
        assert "NaN" not in page.split('id="data">')[1].split("</script>")[0]

    def test_views_that_were_not_judged_yet(self, study):
        unknown = float("nan")
        views = tuple(
            dataclasses.replace(v, p_value=unknown, stability=unknown, replication=unknown)
            for v in study.views
        )
        begun = dataclasses.replace(study, views=views, chance=(), is_provisional=True)
        text = Reader(render(begun)).text
        assert "3 not yet judged" in text
        assert "not yet compared with chance" in text
        assert "p unknown" in text

    @pytest.mark.parametrize("number", [0, 1, 2])
    def test_few_results(self, study, number):
        few = dataclasses.replace(
            study, results=study.results[:number], distances=study.distances[:number, :number]
        )
        assert Reader(render(few)).open == []

    def test_one_view(self):
        page = render(planted_study(60, n_clusters=(2,)))
        assert 'id="against"' not in page


class TestWriting:
    def test_replaces_the_page_that_is_there(self, study, nothing, tmp_path):
        path = tmp_path / "report.html"
        assert write_report(nothing, path) == path
        write_report(study, path)
        assert path.read_text(encoding="utf-8") == render(study)
        assert list(tmp_path.iterdir()) == [path]

    def test_a_folder_that_is_not_there(self, nothing, tmp_path):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            write_report(nothing, tmp_path / "no" / "report.html")

"""The page in a real browser: ``make test-page`` (Debian: apt install chromium chromium-driver)."""

from __future__ import annotations

import csv
import dataclasses
import json
import shlex
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from subscape.exploration.explain import drawn_features
from subscape.report import write_report

pytestmark = pytest.mark.browser

#: What the page itself is, and what it makes.
HARMLESS = ("file:", "data:", "blob:")


def found(*names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(
        f"none of {', '.join(names)} is installed; on Debian: apt install chromium chromium-driver"
    )


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = found("chromium", "chromium-browser", "google-chrome")
    options.add_argument("--headless=new")
    options.add_argument("--no-sandbox")
    options.add_argument("--disable-gpu")
    options.add_argument("--window-size=1300,1000")
    # Else the page scrolls smoothly, and clicks miss what is still moving.
    options.add_argument("--force-prefers-reduced-motion")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found("chromedriver")))
    driver.set_page_load_timeout(30)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, study, odd_study, nothing, large_study, merged_study, noise_study):
    folder = tmp_path_factory.mktemp("pages")
    return {
        "study": write_report(study, folder / "study.html"),
        "odd": write_report(odd_study, folder / "odd.html", embed_ids=True),
        "nothing": write_report(nothing, folder / "nothing.html"),
        "large": write_report(large_study, folder / "large.html"),
        "merged": write_report(merged_study, folder / "merged.html"),
        "noise": write_report(noise_study, folder / "noise.html"),
        "heaps": write_report(in_heaps(study), folder / "heaps.html"),
    }


def in_heaps(study):
    """The study with most rows on a few spots, as levels make them."""
    views = [
        dataclasses.replace(view, coordinates=np.round(view.coordinates / view.coordinates.std()))
        for view in study.views
    ]
    return dataclasses.replace(study, views=tuple(views))


@pytest.fixture
def show(browser, pages):
    """Open a page; afterwards, whatever was done with it, there was no error and no request."""
    from selenium.common.exceptions import NoAlertPresentException

    browser.get_log("browser")
    browser.get_log("performance")

    def open_page(name: str):
        browser.get(pages[name].as_uri())
        return browser

    yield open_page
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    messages = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
    asked = [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]
    assert asked, "the log shows not even the page itself"
    assert [url for url in asked if not url.startswith(HARMLESS)] == []
    assert sum(url.startswith("file:") for url in asked) == 1


def one(browser, selector: str):
    return browser.find_element("css selector", selector)


def every(browser, selector: str):
    return browser.find_elements("css selector", selector)


def click(browser, selector: str) -> None:
    element = one(browser, selector)
    # What is chosen is listed at the bottom, over whatever is there.
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def brush(browser, view: int, left: float, top: float, right: float, bottom: float) -> None:
    """Drag over a part of a view's scatter, in shares of its width and height."""
    from selenium.webdriver import ActionChains

    canvas = one(browser, f".scatter[data-view='{view}']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    width, height = canvas.size["width"], canvas.size["height"]

    def offset(x: float, y: float) -> tuple[int, int]:
        return round((x - 0.5) * (width - 4)), round((y - 0.5) * (height - 4))

    actions = ActionChains(browser, duration=50)
    actions.move_to_element_with_offset(canvas, *offset(left, top)).click_and_hold()
    actions.move_to_element_with_offset(canvas, *offset(right, bottom)).release().perform()


def picture(browser, view: int) -> str:
    """A view's scatter as it looks now; it is drawn when it is seen."""
    canvas = one(browser, f".scatter[data-view='{view}']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    return browser.execute_async_script(
        "const [canvas, done] = arguments;"
        "requestAnimationFrame(() => setTimeout(() => done(canvas.toDataURL()), 50))",
        canvas,
    )


def n_chosen(browser) -> int:
    return browser.execute_script("return nChosen")


def downloaded(folder: Path, name: str) -> list[list[str]]:
    until = time.monotonic() + 10
    path = folder / name
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return list(csv.reader(text.splitlines()))


@pytest.mark.parametrize("name", ["study", "odd", "nothing", "large", "merged", "noise"])
class TestEveryPage:
    def test_everything_can_be_opened_and_clicked(self, show, name):
        browser = show(name)
        title = browser.title
        for details in every(browser, "details:not([open]) > summary"):
            browser.execute_script("arguments[0].click()", details)
        for button in every(browser, "button:not(#download):not(#chosen-csv)")[:60]:
            browser.execute_script("arguments[0].click()", button)
        browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
        assert browser.title == title
        assert every(browser, "img, iframe, object, embed") == []

    def test_fits_a_phone(self, show, name):
        browser = show(name)
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        try:
            browser.refresh()
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            browser.get_log("performance")
            browser.refresh()
        finally:
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert wide <= 390


class TestSelection:
    def test_brushing_selects_the_rows_under_the_frame_in_all_views(self, show, study):
        browser = show("study")
        before = [picture(browser, v) for v in (1, 2, 3)]
        brush(browser, 1, 0, 0, 0.5, 1)
        x = study[1].coordinates[:, 0]
        middle = (x.min() + x.max()) / 2
        # The frame ends at the middle, give or take a pixel.
        assert abs(n_chosen(browser) - int((x < middle).sum())) <= 3
        assert one(browser, "#selection").is_displayed()
        assert all(picture(browser, v) != old for v, old in zip((1, 2, 3), before, strict=True))

    def test_the_panel_says_who_they_are(self, show, study):
        browser = show("study")
        click(browser, ".legend [data-view='1'][data-cluster='2']")
        rows = np.flatnonzero(study[1].labels == 2)
        assert one(browser, "#chosen-title").text == f"{len(rows)} rows selected of 200"
        counts = np.bincount(study[2].labels[rows], minlength=3)
        words = ", ".join(f"{k}: {n}" for k, n in enumerate(counts, 1) if n)
        assert one(browser, "[data-mix='2'] .muted").text == words
        lines = [line.text.split() for line in every(browser, "#who tbody tr")]
        expected = [[str(i + 1), *map(str, study.label_matrix()[i] + 1)] for i in rows]
        assert lines == expected

    def test_names_of_rows_are_listed_where_the_page_has_them(self, show, odd_study):
        browser = show("odd")
        click(browser, ".legend [data-view='1'][data-cluster='0']")
        first = int(np.flatnonzero(odd_study[1].labels == 0)[0])
        assert f"=person{first}<i>" in one(browser, "#who tbody tr").text

    def test_shift_adds_and_clear_clears(self, show, study):
        from selenium.webdriver import ActionChains, Keys

        browser = show("study")
        click(browser, ".legend [data-view='1'][data-cluster='0']")
        first = n_chosen(browser)
        other = one(browser, ".legend [data-view='1'][data-cluster='1']")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", other)
        ActionChains(browser).key_down(Keys.SHIFT).click(other).key_up(Keys.SHIFT).perform()
        sizes = study[1].clustering.sizes
        assert (first, n_chosen(browser)) == (sizes[0], sizes[0] + sizes[1])
        click(browser, "#clear")
        assert n_chosen(browser) == 0
        assert not one(browser, "#selection").is_displayed()

    def test_rows_in_two_clusters_are_in_both(self, show, odd_study):
        browser = show("odd")
        members = odd_study[3].clustering.memberships.toarray() > 0
        for k in (0, 1):
            click(browser, f".legend [data-view='3'][data-cluster='{k}']")
            assert n_chosen(browser) == members[k].sum()
        click(browser, ".legend [data-view='3'][data-cluster='-1']")
        assert n_chosen(browser) == (~members.any(axis=0)).sum()


class TestFiles:
    def test_labels(self, show, study, downloads):
        browser = show("study")
        click(browser, "#download")
        head, *rows = downloaded(downloads, "labels.csv")
        assert head == ["row", "view_1", "view_2", "view_3"]
        numbers = np.array(rows, dtype=int)
        np.testing.assert_array_equal(numbers[:, 0], np.arange(1, 201))
        np.testing.assert_array_equal(numbers[:, 1:], study.label_matrix() + 1)

    def test_selected_rows_with_names_that_are_no_formulas(self, show, odd_study, downloads):
        browser = show("odd")
        click(browser, ".legend [data-view='2'][data-cluster='1']")
        click(browser, "#chosen-csv")
        head, *rows = downloaded(downloads, "selected.csv")
        assert head[0] == "row"
        chosen = np.flatnonzero(odd_study[2].labels == 1)
        assert [row[0] for row in rows] == [f"'=person{i}<i>" for i in chosen]


class TestLevels:
    def test_a_cut_recolours_the_picture_and_its_legend(self, show, merged_study, downloads):
        browser = show("merged")
        view = merged_study[1]
        before = picture(browser, 1)
        click(browser, "button.level[data-view='1'][data-cut='3']")
        assert picture(browser, 1) != before
        buttons = every(browser, "[data-legend='1'] .cluster")
        assert [button.text for button in buttons] == ["1", "2", "3"]
        for k in range(3):
            click(browser, f"[data-legend='1'] [data-cluster='{k}']")
            assert n_chosen(browser) == (view.at(3) == k).sum()
        click(browser, "#download")
        head, *rows = downloaded(downloads, "labels.csv")
        assert head[-1] == "view_1_at_3"
        np.testing.assert_array_equal([int(row[-1]) for row in rows], view.at(3) + 1)
        click(browser, "button.level[data-view='1'][data-cut='4']")
        click(browser, "#clear")
        assert picture(browser, 1) == before

    def test_the_tree_can_be_clicked(self, show, merged_study):
        browser = show("merged")
        band = one(browser, ".band[data-view='1'][data-cut='2']")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", band)
        band.click()
        pressed = one(browser, "button.level[data-view='1'][aria-pressed='true']")
        assert pressed.text == "2"


class TestKeyboard:
    def test_everything_is_reached_in_order(self, show):
        from selenium.webdriver import ActionChains, Keys

        browser = show("study")
        reached = []
        for _ in range(60):
            ActionChains(browser).send_keys(Keys.TAB).perform()
            reached.append(
                browser.execute_script(
                    "const e = document.activeElement;"
                    "return e.id || e.className.baseVal || e.className || e.tagName"
                )
            )
        assert reached[0] == "skip"
        for name in ("theme", "download", "scatter", "SUMMARY"):
            assert name in reached, f"{name} is not among {reached}"

    def test_the_skip_link_leads_to_the_answer(self, show):
        from selenium.webdriver import ActionChains, Keys

        browser = show("study")
        ActionChains(browser).send_keys(Keys.TAB, Keys.ENTER).perform()
        assert browser.execute_script("return document.activeElement.id") == "answer"

    def test_a_frame_can_be_moved_and_selects(self, show):
        from selenium.webdriver import ActionChains, Keys

        browser = show("study")
        canvas = one(browser, ".scatter[data-view='1']")
        browser.execute_script("arguments[0].focus()", canvas)
        keys = ["+"] * 60 + [Keys.ENTER]
        ActionChains(browser).send_keys(*keys).perform()
        assert n_chosen(browser) == 200
        ActionChains(browser).send_keys(*[Keys.ARROW_RIGHT] * 60, Keys.ENTER).perform()
        assert n_chosen(browser) < 200
        ActionChains(browser).send_keys(Keys.ESCAPE).perform()
        assert n_chosen(browser) == 0

    def test_focus_is_seen(self, show):
        from selenium.webdriver import ActionChains, Keys

        browser = show("study")
        ActionChains(browser).send_keys(Keys.TAB, Keys.TAB).perform()
        style = "return getComputedStyle(document.activeElement).outlineStyle"
        assert browser.execute_script(style) == "solid"


class TestPictures:
    def test_theme(self, show):
        browser = show("study")
        back = "return getComputedStyle(document.body).backgroundColor"
        light, drawn = browser.execute_script(back), picture(browser, 1)
        click(browser, "#theme")
        assert browser.execute_script(back) != light
        assert picture(browser, 1) != drawn
        click(browser, "#theme")
        assert browser.execute_script(back) == light

    def test_dark_where_the_system_is(self, show):
        browser = show("study")
        back = "return getComputedStyle(document.body).backgroundColor"
        light = browser.execute_script(back)
        dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
        try:
            assert browser.execute_script(back) != light
        finally:
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_pointing_at_a_result_names_it(self, show, study):
        from selenium.webdriver import ActionChains

        browser = show("study")
        dot = every(browser, ".map circle")[-1]
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
        ActionChains(browser).move_to_element(dot).perform()
        assert "(n_clusters=" in one(browser, "#tip").text
        ActionChains(browser).move_to_element(one(browser, "#matrix")).perform()
        assert "(n_clusters=" in one(browser, "#tip").text

    def test_a_pair_of_views(self, show, study):
        browser = show("study")
        button = one(browser, "[data-pair='2-1']")
        browser.execute_script("arguments[0].click()", button)
        assert button.get_attribute("aria-pressed") == "true"
        cells = [int(cell.text.split()[0]) for cell in every(browser, "#split td.count")]
        expected = np.zeros((3, 4), int)
        np.add.at(expected, (study[2].labels, study[1].labels), 1)
        assert cells == expected.ravel().tolist()

    def test_a_large_page_is_small_and_quick(self, show, pages):
        browser = show("large")
        assert pages["large"].stat().st_size < 4_000_000
        timing = "return performance.getEntriesByType('navigation')[0].domComplete"
        assert 0 < browser.execute_script(timing) < 5000
        start = time.monotonic()
        click(browser, ".legend [data-view='1'][data-cluster='0']")
        assert n_chosen(browser) > 0
        assert time.monotonic() - start < 2


def test_names_are_shown_at_once_and_kept_by_a_command(show):
    page = show("study")
    field = one(page, ".naming[data-place='1.2']")
    field.send_keys("it's old")
    called = {node.get_attribute("textContent") for node in every(page, "[data-called='1.2']")}
    assert called == {"it's old"}
    command = one(page, "#keep-command").get_attribute("textContent")
    assert command.startswith("subscape rename ")
    assert shlex.split(command)[3:] == ["1.2=it's old"]
    field.clear()
    field.send_keys(" ")
    assert not one(page, "#keep").is_displayed()


def test_clusters_are_sorted_and_features_found(show, study):
    page = show("study")
    table = "#view-1 table.clusters"

    def order():
        return [int(row.get_attribute("data-sort")) for row in every(page, f"{table} tbody th")]

    sizes = np.asarray(study[1].cluster_stability)
    click(page, f"{table} thead th:nth-child(3) button")
    assert order() == np.argsort(sizes, kind="stable").tolist()
    click(page, f"{table} thead th:nth-child(3) button")
    assert order() == np.argsort(-sizes, kind="stable").tolist()
    feature = study[1].facts[0][0].feature
    one(page, "#view-1 input.filter").send_keys(feature.upper())
    seen = [
        line.get_attribute("data-feature")
        for line in every(page, "#view-1 .lines li[data-feature]")
        if line.is_displayed()
    ]
    assert seen and all(feature in name for name in seen)


def test_the_values_are_drawn_by_cluster(show, study):
    page = show("study")
    canvas = one(page, "canvas.heat[data-view='1']")
    assert canvas.is_displayed()
    names = [node.text for node in every(page, "#view-1 .heatnames span")]
    assert names == drawn_features(study[1].facts)
    # Rows of one cluster are alike: at most one change of colour per cluster at the left edge.
    changes = page.execute_script(
        "const c = arguments[0], d = c.getContext('2d').getImageData(3, 0, 1, c.height).data;"
        "let n = 0; for (let i = 4; i < d.length; i += 4)"
        " n += d[i] !== d[i - 4] || d[i + 1] !== d[i - 3]; return n",
        canvas,
    )
    assert changes == study[1].n_clusters - 1


def test_a_view_is_copied_as_text(show, study):
    page = show("study")
    text = page.execute_script("return asText(document.querySelector('#view-1'))")
    lines = text.splitlines()
    telling = ", ".join(study[1].telling_features(3))
    assert lines[0] == f"View 1: {study[1].n_clusters} clusters by {telling}"
    assert sum(line.startswith("cluster ") for line in lines) == study[1].n_clusters
    feature = study[1].facts[0][0].feature
    assert any(line.startswith(f"\t{feature}\t") for line in lines)


def test_rows_that_lie_on_each_other_are_drawn_apart(show, study):
    (one_view, *_) = in_heaps(study).views
    spots, rows = len(np.unique(one_view.coordinates, axis=0)), len(one_view.coordinates)
    assert 2 * spots < rows

    def coloured(name: str) -> int:
        page = show(name)
        picture(page, 1)
        return page.execute_script(
            "const c = document.querySelector(\".scatter[data-view='1']\");"
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "let n = 0; for (let i = 0; i < d.length; i += 4)"
            " n += Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 40;"
            "return n",
        )

    # Unshaken, a spot is a dot of some 45 points at most (a radius of 3.4, and its edge).
    assert coloured("heaps") > 1.5 * 45 * spots


@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_without_a_result_shows_what_study_json_has(show, noise_folder, width):
    kept = json.loads((noise_folder / "study.json").read_text())
    browser = show("noise")
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        tiles = [tile.text.splitlines()[:2] for tile in every(browser, ".tiles > *")]
        assert ["0", "groupings better than chance"] in [sorted(tile) for tile in tiles]
        looked, drawn = len(kept["results"]), len(kept["chance"])
        assert {str(looked), "clusterings looked at"} in map(set, tiles)
        assert {str(drawn), "tables without groups"} in map(set, tiles)
        dots = every(browser, "#chance svg.strip circle")
        assert len(dots) == drawn + len(kept["curve_chance"])
        assert all(dot.is_displayed() for dot in dots)
        candidates = every(browser, "#candidates tbody tr")
        shown = [row for row in candidates if not row.find_elements("css selector", "th a")]
        assert len(shown) == len(kept["near_misses"]) > 0
        for row, miss in zip(shown, kept["near_misses"], strict=True):
            against = row.find_elements("css selector", "td")[1]
            # Within the screen: nobody scrolls aside to learn why something was not claimed.
            assert against.rect["x"] >= 0 and against.rect["x"] + against.rect["width"] <= width
            assert f"stability {miss['stability']:.2f}" in row.text
            assert "tables without groups give as clear a grouping" in against.text
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The HTML report in a real browser: it draws, searches, clicks, filters, sorts, saves and prints without an error."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.browser import Browser, require_chromium
from pgmx.datasets import load_network, sample
from pgmx.estimators import BootstrapStructure, GraphicalLasso, HillClimbSearch
from pgmx.plotting import save_report
from pgmx.plotting.reports import page as report_page

pytestmark = pytest.mark.slow

EVIL = "<script>document.title = 'broken'</script>"
SHOWN = "cy.edges().not('.hidden').length"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return the paths of reports of several kinds."""
    require_chromium()
    folder = tmp_path_factory.mktemp("reports")
    rows = sample(load_network("alarm"), 2000)
    search = HillClimbSearch(scoring_method="bic")
    search.fit(rows).report(folder / "alarm.html", data=rows)
    search.report(folder / "compared.html", reference=load_network("alarm"))
    BootstrapStructure(search, n_resamples=10).fit(rows).report(folder / "boot.html")
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(
        rng.normal(size=(300, 6)) @ rng.normal(size=(6, 30)) + rng.normal(size=(300, 30)),
        columns=[EVIL, *(f"gene {k}" for k in range(1, 30))],
    )
    GraphicalLasso(lam_ratio=0.2).fit(numbers).report(folder / "genes.html", data=numbers)
    large = nx.gnm_random_graph(500, 1000, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "MOST_NODES", 300)
        save_report(large, folder / "large.html")
    long = rows.iloc[:, :4].astype(str)
    long = long.set_axis(["an_endless_name_" * 8, *long.columns[1:]], axis=1)
    long["CVP"] += "_state_with_an_endless_name" * 5
    search.fit(long).report(folder / "long.html", data=long)
    fluid = nx.gnm_random_graph(500, 900, seed=1)
    save_report(fluid, folder / "500.html")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory, pages):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(autouse=True)
def no_problems(browser):
    browser.problems.clear()
    yield
    assert browser.problems == []


@pytest.mark.parametrize("name", ["alarm", "boot", "genes", "large", "500"])
def test_it_loads(browser, pages, name):
    browser.open(pages / f"{name}.html")
    assert browser.evaluate("cy.nodes().length") > 0
    # something was painted in each of the two halves of the canvas
    painted = """(() => { const c = cy.png({ output: "base64", scale: 0.3 }); return c.length; })()"""
    assert browser.evaluate(painted) > 2000


def test_search(browser, pages):
    browser.open(pages / "alarm.html")
    browser.type_text("#search", "catech")
    assert browser.evaluate("picked.data('label')") == "CATECHOL"
    assert browser.evaluate("find('details').querySelector('h3').textContent") == "CATECHOL"
    assert "Probabilities of CATECHOL given" in browser.evaluate("find('details').textContent")
    browser.evaluate("find('search').value = ''")
    browser.type_text("#search", "nobody of that name")
    assert browser.evaluate("find('shown').textContent") == "No variable is called nobody of that name."


def test_click_for_parents_and_neighbourhood(browser, pages):
    browser.open(pages / "alarm.html")
    browser.evaluate("find('graph-section').scrollIntoView({ behavior: 'instant' })")
    place = """(() => { const p = cy.$("[label = 'HRBP']").renderedPosition(), b = find("cy").getBoundingClientRect();
               return [p.x + b.left, p.y + b.top]; })()"""
    browser.click(*browser.evaluate(place))
    browser.wait_for("picked !== null")
    text = browser.evaluate("find('details').innerText")
    assert text.startswith("HRBP")
    assert "HR" in text
    n_faint = browser.evaluate("cy.nodes('.faint').length")
    assert 20 < n_faint < 37
    browser.evaluate("find('near').click()")
    assert browser.evaluate("cy.nodes().length") == 37 - n_faint
    browser.evaluate("find('fit').click()")
    assert browser.evaluate("cy.nodes().length") == 37


def test_drag_and_zoom(browser, pages):
    browser.open(pages / "alarm.html")
    browser.evaluate("find('graph-section').scrollIntoView({ behavior: 'instant' })")
    x, y = browser.evaluate(
        """(() => { const p = cy.$("[label = 'HRBP']").renderedPosition(), b = find("cy").getBoundingClientRect();
           return [p.x + b.left, p.y + b.top]; })()"""
    )
    before = browser.evaluate("""cy.$("[label = 'HRBP']").position("x")""")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for step in (10, 30, 60):
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y, button="left", buttons=1)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=x + 60, y=y, button="left", clickCount=1)
    browser.wait_for(f"""cy.$("[label = 'HRBP']").position("x") > {before + 20}""")
    zoom = browser.evaluate("cy.zoom()")
    for _ in range(8):  # the first notches show the kind of the wheel
        browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-100)
        browser.evaluate("new Promise((done) => requestAnimationFrame(done))")
    browser.wait_for(f"cy.zoom() > {zoom}")


@pytest.mark.parametrize("name", ["boot", "genes"])
def test_slider(browser, pages, name):
    browser.open(pages / f"{name}.html")

    def slide(value):
        browser.evaluate(
            f"(() => {{ const s = find('slider'); s.value = {value}; s.dispatchEvent(new Event('input')); }})()"
        )
        return browser.evaluate(SHOWN)

    top = browser.evaluate("Number(find('slider').max)")
    numbers = [slide(share * top) for share in (0.0, 0.3, 0.6, 1.0)]
    assert numbers[0] == browser.evaluate("cy.edges().length")
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] < numbers[0]


def test_a_bootstrap_begins_at_its_threshold(browser, pages):
    browser.open(pages / "boot.html")
    assert browser.evaluate(SHOWN) == browser.evaluate("report.edges.filter((edge) => edge[CHOSEN]).length")


def test_a_dense_graph_begins_thin(browser, pages):
    browser.open(pages / "genes.html")
    shown, every = browser.evaluate(SHOWN), browser.evaluate("report.edges.length")
    assert shown <= 82 < every
    assert f"30 variables, {shown} of {every} edges" in browser.evaluate("find('shown').textContent")
    assert browser.evaluate("document.title") != "broken"


def test_a_reference_is_shown_without_colours_too(browser, pages):
    browser.open(pages / "compared.html")
    counts = {verdict: count for verdict, _, count in browser.evaluate("report.verdicts")}
    drawn = {verdict: browser.evaluate(f"cy.edges('.{verdict}').length") for verdict in counts}
    assert drawn == counts and all(counts.values())
    legend = browser.evaluate("[...find('legend').children].map((item) => item.textContent.split(': ')[1])")
    assert [int(text) for text in legend] == list(counts.values())
    shapes = {
        browser.evaluate(
            "['line-style', 'line-dash-pattern', 'mid-target-arrow-shape']"
            f".map((name) => cy.edges('.{verdict}')[0].style(name)).join()"
        )
        for verdict in counts
    }
    assert len(shapes) == 4
    cells = browser.evaluate("[...find('edges').tBodies[0].rows].map((row) => row.lastChild.textContent)")
    assert cells.count("only in the reference") == counts["missing"]


def test_sort_filter_and_download(browser, pages):
    browser.open(pages / "genes.html")
    column = "[...find('edges').tBodies[0].rows].map((row) => row.cells[3].textContent)"
    sizes = [abs(float(text)) for text in browser.evaluate(column)]
    assert sizes == sorted(sizes, reverse=True)
    browser.evaluate("find('edges').tHead.rows[0].cells[3].firstChild.click()")
    sizes = [abs(float(text)) for text in browser.evaluate(column)]
    assert sizes == sorted(sizes)
    browser.evaluate("find('edges').tHead.rows[0].cells[0].firstChild.click()")
    assert browser.evaluate("find('edges').tHead.rows[0].cells[0].getAttribute('aria-sort')") == "ascending"
    browser.evaluate(
        "(() => { find('filter').value = '<script'; find('filter').dispatchEvent(new Event('input')); })()"
    )
    browser.evaluate("find('download').click()")
    table = pd.read_csv(browser.wait_for_download("edges.csv"))
    assert list(table.columns) == ["from", "mark", "to", "partial correlation"]
    assert ((table["from"] == EVIL) | (table["to"] == EVIL)).all()
    browser.evaluate("find('picture').click()")
    assert browser.wait_for_download("graph.png").read_bytes()[:4] == b"\x89PNG"


def test_keys_move_the_graph_and_choose_rows(browser, pages):
    browser.open(pages / "alarm.html")

    def press(key):
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    browser.evaluate("find('cy').focus()")
    before = browser.evaluate("[cy.pan().x, cy.zoom()]")
    press("ArrowLeft")
    press("+")
    after = browser.evaluate("[cy.pan().x, cy.zoom()]")
    assert after[1] == pytest.approx(1.25 * before[1])
    assert after[0] != before[0]
    browser.evaluate("find('edges').tBodies[0].rows[0].focus()")
    press("Enter")
    assert browser.evaluate("picked.isEdge()")
    browser.evaluate("find('variables').tBodies[0].rows[2].focus()")
    press("Enter")
    assert browser.evaluate("find('details').querySelector('h3').textContent === report.names[2]")


@pytest.mark.parametrize("layout", ["dagre", "cose", "circle", "preset"])
def test_layouts(browser, pages, layout):
    browser.open(pages / "alarm.html")
    browser.evaluate(f"arrange('{layout}')")
    places = browser.evaluate("cy.nodes().map((n) => [n.position('x'), n.position('y')])")
    assert len({(round(x), round(y)) for x, y in places}) == 37


def test_dark(browser, pages):
    browser.open(pages / "alarm.html", dark=True)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 31)"
    browser.evaluate("find('theme').click()")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_print(browser, pages):
    browser.open(pages / "alarm.html", dark=True)
    pdf = browser.print_pdf()
    assert pdf[:5] == b"%PDF-"
    assert len(pdf) > 20_000
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"  # as before


def test_a_variable_that_is_not_drawn_is_found(browser, pages):
    browser.open(pages / "large.html")
    absent = browser.evaluate(
        "report.names.find((name, v) => cy.getElementById('n' + v).empty() && edgesOf[v].length > 1)"
    )
    browser.type_text("#search", absent)
    assert f"The neighbourhood of {absent}" in browser.evaluate("find('shown').textContent")
    assert 2 < browser.evaluate("cy.nodes().length") < 60


def test_a_large_graph_begins_as_communities(browser, pages):
    browser.open(pages / "500.html")
    n_discs = browser.evaluate("overview.discs.length")
    assert 2 < n_discs <= 12
    assert browser.evaluate("[cy.nodes('.disc').length, cy.nodes('.dot').length, cy.edges().length]") == [
        n_discs,
        500,
        900,
    ]
    # every dot is in its disc
    assert browser.evaluate(
        """overview.dots.every(([x, y, disc]) => {
        const [x0, y0, radius] = overview.discs[disc]; return Math.hypot(x - x0, y - y0) < radius; })"""
    )
    browser.evaluate("find('details').querySelector('button').click()")  # the first disc, by the list next to the graph
    members = browser.evaluate("overview.dots.filter(([, , disc]) => disc === 0).length")
    assert browser.evaluate("[cy.nodes().length, cy.nodes('.dot').length]") == [members, 0]
    browser.evaluate("find('fit').click()")
    assert browser.evaluate("cy.nodes('.disc').length") == n_discs
    browser.evaluate("find('theme').click()")
    assert browser.evaluate("cy.edges().some((line) => line.style('curve-style') === 'unbundled-bezier')")
    browser.type_text("#search", "17")
    assert "The neighbourhood of 17" in browser.evaluate("find('shown').textContent")
    browser.evaluate("arrange('preset')")
    assert browser.evaluate("[cy.nodes().length, cy.edges().length]") == [500, 900]


def test_a_click_on_a_disc_opens_it(browser, pages):
    browser.open(pages / "500.html")
    browser.evaluate("find('graph-section').scrollIntoView({ behavior: 'instant' })")
    x, y = browser.evaluate(
        """(() => { const p = cy.$("#c1").renderedBoundingBox({ includeLabels: false });
           const b = find("cy").getBoundingClientRect(); return [p.x1 + p.w / 2 + b.left, p.y1 + 3 + b.top]; })()"""
    )
    browser.click(x, y)
    browser.wait_for("view === 'part'")
    members = browser.evaluate("overview.dots.filter(([, , disc]) => disc === 1).length")
    assert browser.evaluate("cy.nodes().length") == members


def test_short_words_are_not_broken(browser, pages):
    """Long names break, and scroll in their own tables; the page and its panel stay as wide as they are."""
    browser.open(pages / "long.html")
    browser.evaluate("goTo(report.names.indexOf('CVP'))")
    n_lines = """[...document.querySelectorAll("#details th, #details td, #variables td")].map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return [cell.textContent, new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size];
    })"""
    lines = browser.evaluate(n_lines)
    assert {"NORMAL", "LOW", "HIGH"} <= {text for text, _ in lines}
    assert all(number <= 1 for text, number in lines if len(text) <= 12)
    assert all(number > 1 for text, number in lines if len(text) > 100)
    for name in ("details", "variables"):
        assert browser.evaluate(f"find('{name}').scrollWidth <= find('{name}').clientWidth + 1")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")

"""The page in a real browser: Chromium, without a window, where the system has it.

Its screenshots are the pictures of docs/guide/report.md: with --report-pictures FOLDER
they are written there.
"""

# Longer than 400 lines: one browser, and what a page does in it.

import dataclasses
import time
from datetime import date

import pytest

from pipelines.report.page import bundle_vega, make_page
from pipelines.report.releases import Release
from pipelines.report.serving import PageServer
from tests.support.report.browser import CHROMIUM, DRIVER, open_browser
from tests.support.report.fleets import STEPS, make_fleet, make_young_fleet
from tests.support.report.hostile_texts import HOSTILE_TEXTS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="there is no chromium and chromedriver; apt-get install chromium-driver",
    ),
]
WIDTH, HEIGHT = 1280, 900
PHONE = 390
RELEASES = {
    (software, release): Release(
        released=date.fromisoformat(day), support="", faults=""
    )
    for software, release, day in (
        ("apache-kafka-java", "3.7.1", "2024-06-28"),
        ("librdkafka", "2.6.1", "2024-11-15"),
        ("librdkafka", "2.12.1", "2025-10-21"),
    )
}
NOT_KNOWN = "\N{EN DASH}"
FIRST_CELLS = "[...document.querySelectorAll('#client-table tbody tr')].map(one => one.cells[{}].textContent)"
_DRAWN = "document.querySelectorAll('{} .picture[data-drawn]').length"
_IS_READY = "document.body.dataset.ready"


@pytest.fixture(scope="module")
def vega():
    return bundle_vega()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("browser"), WIDTH, HEIGHT) as opened:
        yield opened


@pytest.fixture
def pictures(request):
    """Return where screenshots go; None: nowhere."""
    from pathlib import Path

    folder = request.config.getoption("--report-pictures")
    return Path(folder) if folder else None


@pytest.fixture
def opened(browser, vega, tmp_path):
    """Return a browser that has the page of a fleet of 240 clients open."""
    page = make_page(make_fleet(240, 60), vega, RELEASES)
    return open_page(browser, page, tmp_path)


def open_page(browser, page, folder):
    (folder / "fleet.html").write_text(page.html, encoding="utf-8")
    browser.resize(WIDTH, HEIGHT)
    browser.dress(prefers_color_scheme="light")
    # A page of the same address but for what is behind # would not be read again.
    browser.open("about:blank")
    browser.list_faults()
    browser.open(f"file://{folder}/fleet.html")
    browser.wait(_IS_READY)
    return browser


def cells(browser, column):
    return browser.run(f"return {FIRST_CELLS.format(column)}")


def open_client(browser, row=1):
    browser.click(f"#client-table tbody tr:nth-child({row}) a")
    browser.wait(f"{_DRAWN.format('#client-part')} === 6")


def test_the_table_sorts_filters_and_turns_pages(opened):
    assert (
        opened.run("return document.getElementById('found').textContent")
        == "240 clients"
    )
    opened.click("th[data-column=client_id] button")
    names = cells(opened, 0)
    assert len(names) == 50
    assert names == sorted(names)
    opened.click("th[data-column=client_id] button")
    assert cells(opened, 0) == sorted(cells(opened, 0), reverse=True)
    assert cells(opened, 0)[0] > names[-1]
    opened.click("th[data-column=use] button")
    used = [float(one) for one in cells(opened, 7) if one != NOT_KNOWN]
    assert used == sorted(used, reverse=True)
    assert len(used) == 27  # what is not known stands behind all else
    opened.click("#next")
    assert (
        opened.run("return document.getElementById('page').textContent")
        == "page 2 of 5"
    )
    opened.type("#find", "ORDERS apache")
    opened.wait("document.getElementById('found').textContent.startsWith('1')")
    assert {one.split("-")[0] for one in cells(opened, 0)} == {"orders"}
    assert all(one.startswith("apache-kafka-java") for one in cells(opened, 3))
    opened.run(
        "document.getElementById('find').value = '';"
        "document.getElementById('severity').value = 'errors';"
        "document.getElementById('severity').dispatchEvent(new Event('change'))"
    )
    assert len(cells(opened, 0)) == 5
    assert opened.list_faults() == []


def test_a_client_opens_with_its_lines_and_goes_back(opened, pictures):
    open_client(opened)
    name = opened.run("return document.getElementById('client-name').textContent")
    assert name.startswith("orders-000000")
    marks = "#client-part .small:first-child .mark-rule.role-mark line"
    assert opened.run(f"return document.querySelectorAll('{marks}').length") == 5
    lines = "#client-part .small:first-child .mark-line.role-mark path"
    assert opened.run(f"return document.querySelectorAll('{lines}').length") == 1
    if pictures:
        opened.resize(WIDTH, 1150)
        opened.save_picture(pictures / "report-client.png")
    opened.run("history.back()")
    opened.wait("!document.getElementById('fleet-part').hidden")
    opened.run("location.hash = '#client/ffffffffffff'")
    opened.wait(
        "document.getElementById('client-name').textContent === 'No such client'"
    )
    assert opened.list_faults() == []


def test_pictures_have_axes_units_and_short_legends(opened, pictures):
    opened.wait(f"{_DRAWN.format('#now')} === 2")
    if pictures:
        opened.save_picture(pictures / "report-first.png")
    for part in ("findings", "limits", "performance"):
        opened.run(f"document.getElementById('{part}').scrollIntoView()")
        opened.wait(
            f"{_DRAWN.format('#' + part)} === {3 if part == 'performance' else 1}"
        )
    shapes = opened.run(
        """const shapes = {};
        for (const one of document.querySelectorAll('.picture[data-picture]')) {
          const inside = one.getBoundingClientRect();
          const texts = [...one.querySelectorAll('svg text')];
          shapes[one.dataset.picture] = {
            marks: one.querySelectorAll('[class*="mark-"].role-mark > *').length,
            bars: one.querySelectorAll('.mark-rect.role-mark > *').length,
            titles: [...one.querySelectorAll('.role-axis-title text')].map(t => t.textContent),
            legend: one.querySelectorAll('.role-legend-label text').length,
            outside: texts.filter(t => {
              const box = t.getBoundingClientRect();
              return box.width && (box.left < inside.left - 1 || box.right > inside.right + 1);
            }).map(t => t.textContent),
          };
        }
        return shapes"""
    )
    assert shapes.keys() == {
        *("live", "software", "findings", "limits", "latency", "time_spent"),
        "consumers",
    }
    for name, shape in shapes.items():
        assert shape["outside"] == [], name
        assert shape["marks"] >= 1, name
        assert shape["legend"] <= 11, name
        assert shape["titles"], name
    assert shapes["software"]["bars"] == 9
    assert shapes["latency"]["bars"] == 24
    assert shapes["live"]["legend"] == 11  # ten and the rest
    assert "active client instances" in shapes["live"]["titles"]
    assert opened.list_faults() == []


def read_text(browser, selector):
    return browser.run(f"return document.querySelector('{selector}').textContent")


def search(browser, words):
    """Return the clients that a search finds, and what the page says about it."""
    browser.run(
        "document.getElementById('find').value = arguments[0];"
        "document.getElementById('find').dispatchEvent(new Event('input'))",
        words,
    )
    return len(cells(browser, 0)), read_text(browser, "#found")


def test_head_cell_sorts_wherever_it_is_clicked_and_by_keyboard(opened):
    missed = opened.run(
        """document.querySelector('#client-table thead').scrollIntoView({block: 'center'});
        const missed = [];
        for (const head of document.querySelectorAll('#client-table th')) {
          const box = head.getBoundingClientRect();
          for (const x of [box.left + 2, box.left + box.width / 2, box.right - 2]) {
            for (const y of [box.top + 2, box.bottom - 2]) {
              const at = document.elementFromPoint(x, y);
              if (!at.closest('button')) missed.push(head.textContent);
            }
          }
        }
        return missed"""
    )
    assert missed == []
    head = "#client-table th[data-column=principal]"
    assert read_text(opened, f"{head} .arrow") == "\N{UP DOWN ARROW}"
    opened.run(f"document.querySelector('{head} button').focus()")
    opened.type(f"{head} button", "\n")
    assert (
        opened.run(f"return document.querySelector('{head}').ariaSort") == "ascending"
    )
    assert read_text(opened, f"{head} .arrow") == "\N{BLACK UP-POINTING TRIANGLE}"


def test_search_finds_configured_values_and_rules(opened):
    assert search(opened, "acks=1") == (12, "12 of 240 clients")
    assert search(opened, "producer-acks-one") == (5, "5 of 240 clients")
    assert search(opened, "ACKS=1 producer-acks") == (1, "1 of 240 clients")
    assert search(opened, "acks")[1] == "240 clients"
    found, told = search(opened, "acks=0")
    assert found == 0
    assert told == "0 of 240 clients. No client has acks=0; values of acks: 1, all."
    _, told = search(opened, "no.such.key=1")
    assert told.endswith("No client is known to have no.such.key configured.")


def test_finding_of_a_client_leads_to_its_rule_and_back_to_all_its_clients(opened):
    open_client(opened)
    texts = opened.run(
        "return [...document.querySelectorAll('#client-body .rule p')].map(p => p.textContent)"
    )
    # The sentences of the product are whole, however long they are.
    assert texts[3].endswith("before its followers have fetched it.")
    assert len(texts[3]) > 200
    assert texts[1] == "It waits for one broker (acks=1)."
    assert read_text(opened, "#client-body .rule code") == "acks=1"
    opened.click("#client-body .rule a[href='#rule-producer-acks-one']")
    opened.wait("!document.getElementById('fleet-part').hidden")
    assert opened.run("return document.getElementById('rule-producer-acks-one').open")
    documents = "[...document.querySelectorAll('#rule-producer-acks-one .source a')].map(a => a.href)"
    (address,) = opened.run(f"return {documents}")
    assert address.endswith("Kafka+Improvement+Proposals#:~:text=KIP-1030:")
    opened.run("location.hash = '#find/producer-acks-one'")
    opened.wait("document.getElementById('found').textContent === '5 of 240 clients'")


def test_numbers_times_and_names_stay_on_one_line_and_no_column_is_cut(opened):
    opened.wait(f"{_DRAWN.format('#now')} === 2")
    broken = """return [...document.querySelectorAll('td.number, .whole, time, .value')]
      .filter(one => one.offsetParent && one.matches('td') === false)
      .filter(one => one.getClientRects().length > 1).map(one => one.textContent)"""
    assert opened.run(broken) == []
    tall = """return [...document.querySelectorAll('#client-table tbody td.number')]
      .filter(one => { const range = document.createRange(); range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map(box => box.top)).size > 1; })
      .map(one => one.textContent)"""
    assert opened.run(tall) == []
    wide = """const box = document.querySelector('#client-table').parentElement;
      return box.scrollWidth - box.clientWidth"""
    assert opened.run(wide) <= 0
    principals = "document.querySelectorAll('#client-table td[data-name=principal]')"
    long = "CN=payments-api.prod.example.com,OU=Payments,O=Example"
    opened.run(
        f"{principals}.forEach(one => {{ one.className = 'long';"
        "one.firstChild.textContent = arguments[0]; })",
        long,
    )
    assert opened.run(wide) <= 0
    open_client(opened)
    assert opened.run(broken) == []


def test_few_data_are_words_and_outliers_do_not_hide_others(browser, vega, tmp_path):
    opened = open_page(browser, make_page(make_young_fleet(), vega, {}), tmp_path)
    told = opened.run(
        "return [...document.querySelectorAll('.figure .single')].map(p => p.textContent)"
    )
    assert told == [
        "One value: 2 active instances (orders 2).",
        "3 clients run librdkafka 2.15.0.",
        "producer-acks-one: 3 clients.",
        "One consumer: orders-1, idle in 25 % of its polls, lag 12,000 records, 3.5 records/s.",
    ]
    assert "No new push for 45 min" in read_text(opened, ".stale")
    for part, drawn in (("limits", 1), ("performance", 1)):
        opened.run(f"document.getElementById('{part}').scrollIntoView()")
        opened.wait(f"{_DRAWN.format('#' + part)} === {drawn}")
    titles = opened.run(
        "return [...document.querySelectorAll('.role-axis-title text')].map(t => t.textContent)"
    )
    assert "used of a limit (%), log" in titles
    assert "mean time of a record (ms), log" in titles
    assert opened.list_faults() == []


def test_lines_of_a_client_break_and_single_values_are_words(browser, vega, tmp_path):
    page = make_page(make_young_fleet(STEPS), vega, {})
    opened = open_page(browser, page, tmp_path)
    opened.click("#client-table tbody a")
    opened.wait(f"{_DRAWN.format('#client-part')} === 2")
    words = opened.run(
        "return [...document.querySelectorAll('#client-part .single')].map(p => p.textContent)"
    )
    assert words == ["one value: 12.5, 2026-03-01 08:02", "0 at all times"]
    heads = opened.run(
        "return [...document.querySelectorAll('#client-part h4')].map(h => h.textContent)"
    )
    assert heads[0] == "producer.record.queue.time.avg (ms, log)"
    assert heads[-1] == "producer.record.error.total (records per 5 min)"
    # The line of batch sizes breaks over the absence: two moves of the pen.
    path = "document.querySelectorAll('#client-part .mark-line.role-mark path')[1]"
    assert opened.run(f"return {path}.getAttribute('d')").count("M") == 2
    assert opened.list_faults() == []


def test_nothing_that_clients_send_runs(browser, vega, tmp_path):
    fleet = make_fleet(40, 30, HOSTILE_TEXTS)
    opened = open_page(browser, make_page(fleet, vega, {}), tmp_path)
    for row in range(1, len(HOSTILE_TEXTS) + 1):
        opened.run("location.hash = ''")
        opened.wait("!document.getElementById('fleet-part').hidden")
        open_client(opened, row)
    opened.run(
        """location.hash = '';
        document.querySelectorAll('.picture').forEach(one => one.scrollIntoView());
        for (const type of ['mouseover', 'mousemove', 'click']) {
          for (const one of document.querySelectorAll('svg path, svg text')) {
            one.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: 9, clientY: 9}));
          }
        }"""
    )
    opened.type("#find", "</script>")
    assert opened.run("return window.ran === undefined")
    assert opened.run("return ({}).polluted === undefined")
    own = opened.run("return [...document.querySelectorAll('script')].map(s => s.id)")
    assert own == ["data", "", ""]
    elements = "document.querySelectorAll('img, iframe, object, embed, link').length"
    assert opened.run(f"return {elements}") == 0
    assert opened.list_faults() == []


def test_a_phone_shows_all_of_it_in_its_width(opened, pictures):
    opened.resize(PHONE, 844)
    wide = "document.documentElement.scrollWidth"
    assert opened.run(f"return {wide}") <= PHONE
    opened.run("document.getElementById('clients').scrollIntoView()")
    cell = "getComputedStyle(document.querySelector('#client-table tbody td')).display"
    assert opened.run(f"return {cell}") == "flex"
    overlapping = """const boxes = [...document.querySelectorAll('#client-table th')]
        .map(head => head.getBoundingClientRect());
      return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.left < b.right - 1 &&
        b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length"""
    assert opened.run(overlapping) == 0
    if pictures:
        opened.save_picture(pictures / "report-phone.png")
    open_client(opened)
    assert opened.run(f"return {wide}") <= PHONE
    assert opened.list_faults() == []


def test_the_dark_and_paper_have_their_own_colours(opened, pictures):
    def contrast():
        return opened.run(
            """const number = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const light = rgb => rgb.map(v => v / 255)
              .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
              .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const paper = light(number(getComputedStyle(document.body).backgroundColor));
            const told = {};
            for (const one of ['body', '.when', 'a', '.missing', 'svg text', 'th']) {
              const style = getComputedStyle(document.querySelector(one));
              const ink = light(number(one === 'svg text' ? style.fill : style.color));
              told[one] = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
            }
            return [told, paper]"""
        )

    opened.wait(f"{_DRAWN.format('#now')} === 2")
    for scheme, is_dark in (("light", False), ("dark", True)):
        opened.dress(prefers_color_scheme=scheme)
        told, paper = contrast()
        assert (paper < 0.2) == is_dark
        # The least that WCAG's level AA takes for small text.
        assert min(told.values()) >= 4.5, (scheme, told)
        if pictures and is_dark:
            opened.save_picture(pictures / "report-dark.png")
    opened.dress(media="print")
    assert contrast()[1] == 1.0
    hidden = "getComputedStyle(document.querySelector('nav')).display"
    assert opened.run(f"return {hidden}") == "none"


def test_a_hundred_thousand_clients_open(browser, vega, tmp_path):
    fleet = make_fleet(100_000, 1_000)
    began = time.monotonic()
    opened = open_page(browser, make_page(fleet, vega, {}), tmp_path)
    assert (
        opened.run("return document.getElementById('found').textContent")
        == "100,000 clients"
    )
    opened.click("th[data-column=last_seen] button")
    opened.type("#find", "099999")
    opened.wait("document.getElementById('found').textContent.startsWith('1 of')")
    opened.click("#client-table tbody a")
    opened.wait("document.querySelector('#client-body .missing') !== null")
    assert time.monotonic() - began < 120
    assert opened.list_faults() == []


def test_a_served_page_says_that_there_is_a_newer_one(browser, vega):
    fleet = make_fleet()
    page = make_page(fleet, vega, {}, is_served=True)
    server = PageServer(0)
    try:
        server.show(page.html, int(fleet.made_at.timestamp() * 1000))
        browser.open(server.address)
        browser.wait(_IS_READY)
        later = dataclasses.replace(fleet, environment="later")
        newer = make_page(later, vega, {}, is_served=True)
        server.show(newer.html, int(fleet.made_at.timestamp() * 1000) + 1)
        browser.wait("!document.getElementById('newer').hidden", seconds=40)
        browser.click("#newer a")
        browser.wait("document.querySelector('h1').textContent.endsWith('later')")
    finally:
        server.close()

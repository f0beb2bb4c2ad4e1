#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of plans and of fabrics in a browser. Usage: tests/golden/page.py WEFT EXAMPLES
[--show FOLDER]

Writes pages of plans and of fabrics that one buys, and drives Chromium over them: figures at the
pointer and by keyboard, zoom, filters, sorted tables, groups that fold, contents, contrast, sizes
of words, 390 and 1440 pixels, light and dark, no word on the console, nothing asked of a network,
and all of it read without the script. With --show it leaves screenshots in the folder. Skips where
there is no Chromium.

Mutations that it found: titles of cables without figures (hover), figuresAt that finds no tasks
(hover), refresh() that does not look at `off` (filter), zoom = 1 (zoom), groups that begin open
(fold), .scroll without overflow (390 pixels), --muted:#8a939c (contrast), console.log in page.js
(console), an <img> of another host (network), the clock's date (date), tables without captions
(captions), another sum below the parts (totals), rows sorted by letters (sort), names of points
placed without a look at others (names), a bill with twice its sum (bills).
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile

from browser import Browser, find

SKIP = 77

# Words and what is behind them: [contrast, words, pixels] for each text that is seen.
WORDS = """(() => {
  const number = (c) => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const page = getComputedStyle(document.body).backgroundColor;
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = number(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return number(page);
  };
  const out = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].filter((n) => n.nodeType === 3 && n.data.trim()).length;
    if (!own || /^(SCRIPT|STYLE|TITLE)$/i.test(e.tagName) || !e.getClientRects().length ||
        e.closest(".dim")) continue;
    const style = getComputedStyle(e);
    const drawn = e.closest("svg");
    const color = number(drawn ? style.fill : style.color);
    const scale = drawn && e.getScreenCTM ? Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b) : 1;
    out.push([ratio(light(color), light(behind(e))), e.textContent.trim().slice(0, 40),
      parseFloat(style.fontSize) * scale]);
  }
  return out;
})()"""

# Shapes that mean something: [contrast with the page, class].
SHAPES = """(() => {
  const number = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const page = light(number(getComputedStyle(document.body).backgroundColor));
  const out = {};
  for (const e of document.querySelectorAll("svg *")) {
    const of = /(?:^| )([fsoqm][0-9o]|fc|h|e)(?: |$)/.exec(e.getAttribute("class") || "");
    if (!of) continue;
    const style = getComputedStyle(e);
    const color = light(number(/^[sqe]/.test(of[1]) ? style.stroke : style.fill));
    out[of[1]] = (Math.max(color, page) + 0.05) / (Math.min(color, page) + 0.05);
  }
  return Object.entries(out);
})()"""


class Test:
    def __init__(self, weft, examples, show):
        self.weft = weft
        self.examples = examples
        self.show = show
        self.faults = 0
        self.checks = 0

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.faults += 1
            print(f"FAIL: {what}")

    def write(self, path, *arguments, verb="plan", date="1764115200"):
        environment = dict(os.environ, SOURCE_DATE_EPOCH=date)
        if date is None:
            del environment["SOURCE_DATE_EPOCH"]
        return subprocess.run([self.weft, verb, *arguments, "--report", path], env=environment,
                              capture_output=True, text=True, check=False)

    def tip(self):
        return self.browser.ask("document.getElementById('tip').hidden ? '' : "
                                "document.getElementById('tip').textContent")

    def at(self, expression):
        """The middle of an element, scrolled to where it is seen."""
        return self.browser.ask(
            f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()")

    def hover(self, expression, wanted, what):
        self.browser.point(*self.at(expression))
        tip = self.tip()
        self.expect(re.search(wanted, tip), f"{what}: '{tip}' is not '{wanted}'")

    def click(self, expression):
        self.browser.point(*self.at(expression), press=True)

    def count(self, selector):
        return self.browser.ask(f"document.querySelectorAll({json.dumps(selector)}).length")

    def type_into(self, figure, text):
        self.browser.ask(
            f"(() => {{ const i = document.querySelector('[data-tools={figure}] input[type=text]');"
            f"i.value = {json.dumps(text)}; i.dispatchEvent(new Event('input')); }})()")

    # ---- what every page must be, at any width and in any scheme ----

    def check_looks(self, path):
        for width in (390, 1440):
            for scheme in ("light", "dark"):
                self.browser.open(path, width, scheme)
                where = f"{os.path.basename(path)} at {width} pixels, {scheme}"
                wide = self.browser.ask("document.documentElement.scrollWidth")
                self.expect(wide <= width, f"{where}: is {wide} pixels wide")
                for contrast, words, pixels in self.browser.ask(WORDS):
                    self.expect(contrast >= 4.5, f"{where}: contrast {contrast:.2f} of '{words}'")
                    self.expect(pixels >= 8.5, f"{where}: '{words}' is {pixels:.1f} pixels high")
                for name, contrast in self.browser.ask(SHAPES):
                    self.expect(contrast >= 2.95, f"{where}: contrast {contrast:.2f} of .{name}")
                if self.show:
                    self.shoot(f"{os.path.basename(path)[:-5]}-{width}-{scheme}.png", width)

    def shoot(self, name, width):
        height = self.browser.ask("document.documentElement.scrollHeight")
        taken = self.browser.call(
            "Page.captureScreenshot", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        with open(os.path.join(self.show, name), "wb") as file:
            file.write(base64.b64decode(taken["data"]))

    def check_form(self, path):
        self.browser.open(path)
        where = os.path.basename(path)
        self.expect(self.count("nav a") == self.count("main > section") > 0, f"{where}: contents")
        self.expect(self.browser.ask("[...document.querySelectorAll('nav a')].every((a) => "
                                     "document.querySelector(a.getAttribute('href')))"),
                    f"{where}: contents lead nowhere")
        self.expect(self.count("table") == self.count("table > caption"), f"{where}: captions")
        self.expect(self.count("th:not([scope])") == 0, f"{where}: header cells without scope")
        self.expect(self.count("tr") == self.count("tr > th:first-child"), f"{where}: row headers")
        exponents = self.browser.ask("document.querySelector('main').innerText.match("
                                     "/\\d(\\.\\d+)?e[+-]\\d\\d+/g)")
        self.expect(not exponents, f"{where}: not as a person writes: {exponents}")
        # Without the script: everything is said, and nothing stands there that does nothing.
        told = self.count("svg .i")
        self.browser.open(path, script=False)
        self.browser.call("Emulation.setScriptExecutionDisabled", value=False)
        self.expect(self.count("svg .i > title") >= min(told, 1), f"{where}: no titles")
        self.expect(self.count(".tools, #tip, .lanes") == 0, f"{where}: tools without a script")

    # ---- what a reader does ----

    def check_hover(self, path):
        self.browser.open(path)
        figure = "document.querySelector('[data-tools=fabric] svg')"
        self.hover(f"{figure}.querySelector('.i[data-k]')",
                   r"\d+ (↔|→) \d+: (no )?ring.*bps.*\n.*B to \d+, \d+ % of the iteration",
                   "a cable")
        self.hover(f"{figure}.querySelector('.i:not([data-k])')",
                   r"server \d+: \d+ cables\nsends .*B, receives .*B", "a server")
        self.hover("document.querySelector('#certificate svg .i rect')",
                   r"gap .* %; for this strategy", "a bound")
        self.hover("document.querySelector('#against-other-fabrics svg .i rect')",
                   r"of the ideal; \$", "a fabric")
        self.hover("document.querySelector('#link-loads svg .i rect')", r"\d+ links? of",
                   "a bar of link loads")
        self.hover("[...document.querySelectorAll('#where-the-time-goes svg .i')].pop()",
                   r"server \d+: [\d.]+ \w+\ncomputes", "a column of uses")
        self.browser.point(2, 2)
        self.expect(self.tip() == "", "figures stay when the pointer leaves")
        # The first task of its kind and lane: a path has all of them.
        self.browser.ask("document.querySelector('.lanes').scrollIntoView({block: 'center'})")
        self.browser.point(*self.browser.ask(
            "(() => { const p = document.querySelector('.lanes svg path[class^=f]');"
            "const [, x, y] = /M([\\d.]+) ([\\d.]+)/.exec(p.getAttribute('d'));"
            "const b = p.ownerSVGElement.getBoundingClientRect();"
            "return [b.x + +x + 0.5, b.y + +y + 5]; })()"))
        tip = self.tip()
        self.expect(re.search(r"server.*\n\w+ .*, from [\d.]+ \w+ to [\d.]+ \w+", tip),
                    f"a task: '{tip}'")

    def check_keys(self, path):
        self.browser.open(path)
        self.browser.ask("document.querySelector('[data-tools=fabric] svg').focus()")
        told = []
        for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft", "End"):
            self.browser.press(key)
            told.append(self.tip())
        self.expect(len(set(told)) == 4 and told[1] == told[3] and all(told),
                    f"arrows in the fabric: {told}")
        self.browser.press("Escape")
        self.expect(self.tip() == "", "Escape keeps figures")
        self.browser.ask("document.querySelector('.lanes .scroll').focus()")
        told = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
            self.browser.press(key)
            told.append(self.tip())
        self.expect(len(set(told)) == 4 and all("from" in tip for tip in told),
                    f"arrows in the timeline: {told}")
        # By Tab alone: links, tools and pictures are reached.
        self.browser.open(path)
        reached = set()
        for _ in range(60):
            self.browser.press("Tab")
            reached.add(self.browser.ask("document.activeElement.tagName.toLowerCase()"))
        self.expect({"a", "svg", "input", "button"} <= reached, f"Tab reaches {sorted(reached)}")

    def check_tools(self, path):
        self.browser.open(path)
        cables = self.count("[data-tools=fabric] .i[data-k]")
        self.type_into("fabric", "3")
        lit = self.browser.ask("[...document.querySelectorAll('[data-tools=fabric] .i[data-k]"
                               ":not(.dim)')].map((e) => e.dataset.s)")
        self.expect(0 < len(lit) < cables and all("3" in of.split() for of in lit),
                    f"cables of server 3: {lit}")
        self.type_into("fabric", "")
        self.expect(self.count("[data-tools=fabric] .dim") == 0, "an empty filter dims")
        self.click("document.querySelector('[data-tools=fabric] input[type=checkbox]')")
        self.expect(self.browser.ask(
            "[...document.querySelectorAll('[data-tools=fabric] .dim')].every("
            "(e) => e.dataset.k === document.querySelector("
            "'[data-tools=fabric] label:has(input[type=checkbox])').textContent)")
            and self.count("[data-tools=fabric] .dim") > 0, "a ring that is turned off")
        for figure, svg in (("fabric", ".scroll > svg"), ("timeline", ".lanes svg")):
            of = f"document.querySelector('[data-tools={figure}] {svg}').getBoundingClientRect()"
            before = self.browser.ask(of + ".width")
            self.click(f"document.querySelector('[data-tools={figure}] .tools button')")
            self.click(f"document.querySelector('[data-tools={figure}] .tools button')")
            after = self.browser.ask(of + ".width")
            self.expect(after > 2 * before, f"zoom of {figure}: {before} to {after}")
            self.click(f"document.querySelectorAll('[data-tools={figure}] .tools button')[2]")
            self.expect(abs(self.browser.ask(of + ".width") - before) < 20, f"1:1 of {figure}")
        self.type_into("timeline", "0, 4-6")
        self.expect(self.browser.ask("[...document.querySelectorAll('.lanes li')].map((e) => "
                                     "e.textContent).join()") == "0,4,5,6", "lanes of servers")
        paths = self.count(".lanes svg path[class^=f]")
        self.click("document.querySelector('[data-tools=timeline] input[type=checkbox]')")
        self.expect(self.count(".lanes svg path[class^=f]") < paths, "a kind that is turned off")

    def check_folds(self, path):
        self.browser.open(path)
        self.expect(self.count("[data-tools=fabric] .group") == 16, "128 servers in groups")
        seen = ("[...document.querySelectorAll('[data-tools=fabric] .i[data-s]:not([data-k])')]"
                ".filter((e) => e.getClientRects().length).length")
        self.expect(self.browser.ask(seen) == 0, "servers of folded groups are drawn")
        self.hover("document.querySelector('[data-tools=fabric] .group')", "servers .* opens them",
                   "a group")
        self.click("document.querySelector('[data-tools=fabric] .group')")
        self.expect(self.browser.ask(seen) == 8, "a group that is opened")
        self.expect(self.count(".lanes li") == 16, "lanes in groups")
        self.click("document.querySelector('.lanes li button')")
        self.expect(self.count(".lanes li") == 24, "a group of lanes that is opened")
        self.expect(self.count("details table") == 1, "the table of ranks is folded")

    # ---- what a page says ----

    def check_words(self, path, arguments):
        with open(path, encoding="utf-8") as file:
            page = file.read()
        tiles = re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)<small>", page)
        self.expect([name for name, _ in tiles[:4]] ==
                    ["Tokens a second", "MFU", "Network cost", "Network power"],
                    f"first metrics: {tiles[:4]}")
        tiles = dict(tiles)
        parts = page[page.index('<section id="parts">'):]
        sums = re.search(r'together<td><td><td class="r">([^<]*)<td class="r">([^<]*)</tr>', parts)
        self.expect(sums and sums.groups() == (tiles["Network cost"], tiles["Network power"]),
                    f"parts {sums and sums.groups()}, head {tiles}")
        rows = re.findall(r'class="r">([\d,]+)<td class="r">\$([\d,]+)<td class="r">\$([\d,]+)<td',
                          parts)
        number = [[int(cell.replace(",", "")) for cell in row] for row in rows]
        self.expect(sum(row[2] for row in number) ==
                    int(tiles["Network cost"][1:].replace(",", "")), f"parts do not add up: {rows}")
        self.expect(f"largest {tiles['Largest link load']}" in page, "largest link load twice")
        self.expect("<dt>Date</dt><dd>2025-11-26</dd>" in page, "the date that was given")
        self.expect("<code>weft plan gpt3-125m " in page, "the command")
        again = self.write(path + ".again", *arguments)
        with open(path + ".again", encoding="utf-8") as file:
            same = file.read().replace(".html.again", ".html") == page
        self.expect(again.returncode == 0 and same, "the same plan gives other bytes")
        self.write(path, *arguments, date=None)
        with open(path, encoding="utf-8") as file:
            self.expect("<dt>Date" not in file.read(), "a date that nobody gave")
        refused = self.write(path + ".no", *arguments, date="yesterday")
        self.expect(refused.returncode == 3 and "SOURCE_DATE_EPOCH: 'yesterday'" in refused.stderr
                    and not os.path.exists(path + ".no"), f"a date that is none: {refused.stderr}")

    # ---- the page of fabrics that one buys ----

    def column(self, title):
        """Cells of the table of fabrics, from the first row down, without rows that lack them."""
        return self.browser.ask(
            "(() => { const t = document.querySelector('#fabrics table');"
            "const titles = [...t.rows[0].cells];"
            f"const c = titles.findIndex((th) => th.textContent === {json.dumps(title)});"
            "return [...t.rows].slice(1).filter((r) => r.cells.length === titles.length)"
            ".map((r) => r.cells[c].textContent); })()")

    def check_market(self, path):
        self.browser.open(path)
        item = "document.querySelector('[data-tools=market] .i[data-k=%s] circle')"
        self.hover(item % "leaf-spine",
                   r"leaf-spine: [\d.]+ \w+, (simulated|by estimate); \$[\d,]+, .*W", "a point")
        self.hover(item % "ideal", r"ideal: .*\nno such ports are sold", "a point in outline")
        self.browser.ask("document.querySelector('[data-tools=market] svg').focus()")
        told = []
        for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft", "End"):
            self.browser.press(key)
            told.append(self.tip())
        self.expect(len(set(told)) == 4 and told[1] == told[3] and all(told),
                    f"arrows over the points: {told}")
        self.browser.press("Escape")
        self.click("document.querySelector('[data-tools=market] input[type=checkbox]')")
        self.expect(self.browser.ask("[...document.querySelectorAll('[data-tools=market] .i.dim')]"
                                     ".map((e) => e.dataset.k).join()") == "cost-equivalent",
                    "a fabric that is turned off")
        over = self.browser.ask(
            "(() => { const b = [...document.querySelectorAll('[data-tools=market] .i text')]"
            ".map((e) => [e.textContent, e.getBoundingClientRect()]); const out = [];"
            "b.forEach(([s, p], i) => b.slice(i + 1).forEach(([t, q]) => {"
            "if (p.left < q.right && q.left < p.right && p.top + 2 < q.bottom &&"
            " q.top + 2 < p.bottom) out.push(s + '/' + t); })); return out; })()")
        self.expect(not over, f"names over each other: {over}")
        self.check_sort()

    def check_sort(self):
        """By pointer and by key, up and down; figures by what they stand for, not by letters."""
        read = {"cost": lambda cell: float(cell.replace("$", "").replace(",", "")),
                "power": lambda cell: float(cell.split()[0]) *
                {"W": 1, "kW": 1e3, "MW": 1e6}[cell.split()[1]],
                "fabric": str, "estimate": lambda cell: float(cell.split()[0]) *
                {"s": 1, "ms": 1e-3, "us": 1e-6}[cell.split()[1]]}
        for title, value in read.items():
            of = ("[...document.querySelectorAll('#fabrics th button')].find((b) => "
                  f"b.textContent === '{title}')")
            self.click(of)
            up = [value(cell) for cell in self.column(title)]
            self.browser.ask(of + ".focus()")
            self.browser.press("Enter")
            down = [value(cell) for cell in self.column(title)]
            self.expect(len(set(up)) > 3 and up == sorted(up) and down == sorted(up, reverse=True),
                        f"sorted by {title}: {up}, {down}")
            self.expect(self.browser.ask(of + ".closest('th').getAttribute('aria-sort')") ==
                        "descending", f"aria-sort of {title}")
            self.expect(self.count("th[aria-sort]") == 1, "sorted by two columns")

    def check_market_words(self, path, arguments):
        told = json.loads(subprocess.run([self.weft, "compare", *arguments, "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        tiles = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>([^<]*)<small>", page))
        usd = f"${told['usd']:,.0f}"
        self.expect(list(tiles)[:5] == ["Fabric", "Tokens a second", "MFU", "Network cost",
                                        "Network power"], f"first metrics: {list(tiles)}")
        self.expect((tiles["Fabric"], tiles["Network cost"]) == (told["fabric"], usd) and
                    tiles["Tokens a second"] == f"{told['tokens_per_s']:,.0f}" and
                    tiles["MFU"] == f"{100 * told['mfu']:.3g} %",
                    f"{tiles} is not {told['fabric']}")
        bills = re.findall(r"<summary>([\w-]+): (\$[\d,]+), ([^<]*)</summary>(.*?)</details>", page,
                           re.S)
        self.expect([bill[0] for bill in bills] == [row["name"] for row in told["fabrics"]
                                                    if "why_not" not in row], "a bill each")
        for name, sum_usd, watts, table in bills:
            rows = [int(cell.replace(",", "")) for cell in re.findall(r"<td class=\"r\">\$([\d,]+)",
                                                                      table)]
            whole = int(sum_usd[1:].replace(",", ""))
            self.expect(abs(sum(rows[:-1]) - whole) <= len(rows) and rows[-1] == whole,
                        f"the bill of {name}: {rows} and {sum_usd}")
            self.expect(page.count(f"{sum_usd}<td class=\"r\">{watts}") >= 2,
                        f"the bill of {name} is not in the table")
        again = self.write(path + ".again", *arguments, verb="compare")
        with open(path + ".again", encoding="utf-8") as file:
            same = file.read().replace(".html.again", ".html") == page
        self.expect(again.returncode == 0 and same, "the same fabrics give other bytes")

    def run(self, program, folder):
        jobs = os.path.join(self.examples, "jobs")
        cluster = os.path.join(self.examples, "clusters", "16x4-100g.yaml")
        fast = ("--effort", "0.05")
        pages = {
            "job-16": (os.path.join(jobs, "dlrm_16.fbuf"), "--degree", "4", "--rate", "100Gbps"),
            "job-128": (os.path.join(jobs, "gpt_128.fbuf"), "--degree", "4", "--rate", "100Gbps"),
            "model-16": ("gpt3-125m", cluster, "--strategy", "dp=16,tp=4,micro=1"),
            "dlrm-16": ("dlrm-16", cluster, "--variant", "topology"),
        }
        market = ("gpt3-125m", cluster, *fast)
        two = ("gpt3-125m", cluster, "--fabric", "fat-tree,leaf-spine,torus-2d,ring", "--batches",
               "512,256", "--stack", "megatron-core")
        paths = {name: os.path.join(folder, name + ".html")
                 for name in (*pages, "compare-16", "bought-16")}
        for name, arguments in pages.items():
            written = self.write(paths[name], *arguments, *fast)
            self.expect(written.returncode == 0, f"{name}: {written.stderr}")
        for name, verb, arguments in (("compare-16", "compare", market),
                                      ("bought-16", "plan", (*two, *fast))):
            written = self.write(paths[name], *arguments, verb=verb)
            self.expect(written.returncode == 0, f"{name}: {written.stderr}")
        self.browser = Browser(program)
        try:
            for path in paths.values():
                self.check_looks(path)
                self.check_form(path)
            self.check_hover(paths["job-16"])
            self.check_keys(paths["job-16"])
            self.check_tools(paths["job-16"])
            self.check_folds(paths["job-128"])
            self.check_market(paths["compare-16"])
            self.check_market_words(paths["compare-16"], market)
            self.check_words(paths["model-16"], (*pages["model-16"], *fast))
            for problem in self.browser.problems:
                self.expect(False, problem)
        finally:
            self.browser.close()


def main():
    program = find()
    if program is None:
        print("skipped: no chromium here (apt-get install chromium)")
        return SKIP
    weft, examples = sys.argv[1:3]
    show = sys.argv[4] if len(sys.argv) > 4 else None
    test = Test(weft, examples, show)
    with tempfile.TemporaryDirectory() as folder:
        test.run(program, folder)
    print(f"{test.checks} checks, {test.faults} failed")
    return 1 if test.faults else 0


if __name__ == "__main__":
    sys.exit(main())

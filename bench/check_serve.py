"""Checks `clickvec serve` and the page of `clickvec judge` with public tools: python3 bench/check_serve.py PROGRAM [SCREENSHOTS]

The real client of OpenAI's API, schemathesis on /openapi.json, and the page in a real browser, with axe. Needs openai,
schemathesis, selenium, axe-selenium-python, Debian's chromium and chromium-driver. SCREENSHOTS is a folder for pictures.
"""

import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

SHOP = pathlib.Path(__file__).parent.parent / "testdata" / "shop"
TOKEN = "a-token-for-administration"


class Service:
    """A running service."""

    def __init__(self, program, folder, *more, listen="127.0.0.1:0"):
        self.log = open(folder / "serve.log", "a")
        command = [program, "serve", str(folder / "shop.index"), str(folder / "few.index"), "--listen", listen, *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), (folder / "serve.log").read_text()

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return json.load(answer)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.process.returncode


def prepare(program, folder):
    run = lambda *command: subprocess.run([program, *map(str, command)], check=True, capture_output=True)
    model = folder / "shop.safetensors"
    run("train", "--clicks", SHOP / "clicks.tsv", "--set", "encoder.cells=32", "--epochs", 6, "--output", model)
    titles = folder / "titles.tsv"
    rows = [line.split("\t") for line in (SHOP / "titles.tsv").read_text().splitlines()[1:]]
    lines = [f"{id}\t{title}\t{title.split()[0]}\t{7 + 31 * number % 500}.50" for number, (id, title) in enumerate(rows)]
    titles.write_text("\n".join(["id\ttitle\tbrand\tprice", *lines]) + "\n")
    run("index", "--model", model, "--titles", titles, "--store", "brand,price", "--output", folder / "shop.index")
    few = folder / "few.tsv"
    few.write_text("\n".join(["id\ttitle", *["\t".join(row) for row in rows[:90]]]) + "\n")
    run("index", "--model", model, "--titles", few, "--output", folder / "few.index")


def check_openai(service):
    import openai

    client = openai.OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["shop", "shop:query", "shop:title", "few", "few:query", "few:title"]
    texts = ["lether couch", "desk lamp"]
    for model in ["shop", "shop:query", "shop:title"]:
        # The client asks for base64 and decodes it; numbers must give the same.
        coded = client.embeddings.create(model=model, input=texts)
        plain = client.embeddings.create(model=model, input=texts, encoding_format="float")
        for one, other in zip(coded.data, plain.data, strict=True):
            assert max(abs(a - b) for a, b in zip(one.embedding, other.embedding, strict=True)) < 1e-6
            assert math.isclose(sum(x * x for x in one.embedding), 1, abs_tol=1e-4)
    try:
        client.embeddings.create(model="text-embedding-3-small", input="a")
        raise AssertionError("another model was taken")
    except openai.NotFoundError as error:
        assert "shop" in error.message and error.body["param"] == "model", error
    try:
        client.embeddings.create(model="shop", input=[[1, 2, 3]])
        raise AssertionError("tokens were taken")
    except openai.UnprocessableEntityError as error:
        assert "tokens" in error.message, error
    print("openai: models, vectors as numbers and in base64, and faults")


# What a broken request may be refused with: schemathesis's own list, and 413 and 414 for what is too long.
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "413", "414", "415", "422", "428", "429", "431"]


def check_description(service, folder):
    config = f"[checks]\nnegative_data_rejection.expected-statuses = {json.dumps(REFUSALS)}\n"
    # Whether a field, a boost, a page or a number of dimensions fits the index is more than a schema can say.
    accepted = ["2xx", "401", "403", "404", "409", "422", "429", "5xx"]
    for address in ["/search", "/v1/embeddings"]:
        config += f'[[operations]]\ninclude-path = "{address}"\n[operations.checks]\npositive_data_acceptance.expected-statuses = {json.dumps(accepted)}\n'
    (folder / "schemathesis.toml").write_text(config)
    command = [str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", service.url + "/openapi.json", "--checks", "all",
               "--header", f"Authorization: Bearer {TOKEN}", "--max-examples", os.environ.get("CLICKVEC_EXAMPLES", "30"), "--seed", "1",
               # A token is needed only if the service has some.
               "--exclude-checks", "missing_required_header"]
    # It keeps notes of its own where it runs.
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        # Addresses may be long; their beginnings say enough.
        shown = "\n".join(line[:500] for line in done.stdout.splitlines())
        sys.exit(shown[-20_000:] + done.stderr[-2_000:])
    print("schemathesis: nothing found")


class Page:
    """The page in a browser."""

    def __init__(self, width, height, scheme):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService("/usr/bin/chromedriver")
        self.browser = webdriver.Chrome(options=options, service=service)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.name = f"{width}-{scheme}"

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def click(self, element):
        # Not below the header, which stays at the top.
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def until(self, what, holds):
        end = time.time() + 15
        while time.time() < end:
            try:
                if holds():
                    return
            except Exception:  # what is looked for may just be replaced
                pass
            time.sleep(0.05)
        raise AssertionError(f"{self.name}: expected {what}; the page says {self.one('body').text!r}")

    def shoot(self, folder, what):
        if folder:
            self.browser.save_screenshot(str(folder / f"{what}-{self.name}.png"))

    def accessible(self, what):
        from axe_selenium_python import Axe

        axe = Axe(self.browser)
        axe.inject()
        found = [of for of in axe.run()["violations"] if of["impact"] in ("serious", "critical")]
        told = [(of["id"], [node["html"] for node in of["nodes"]][:3]) for of in found]
        assert not found, f"{self.name}, {what}: {told}"

    def fits(self, what):
        wide = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{self.name}, {what}: {wide} px wider than the screen"
        script = "return [...document.querySelectorAll('.wide:has(table)')].filter(box => box.scrollWidth > box.clientWidth).map(box => box.ariaLabel)"
        tables = self.browser.execute_script(script)
        assert not tables, f"{self.name}, {what}: these tables scroll sideways: {tables}"


def check_page(program, folder, pictures):
    for width, height in [(360, 780), (800, 1000), (1280, 900)]:
        for scheme in ["light", "dark"]:
            record = folder / f"record-{width}-{scheme}"
            judged = record / "judgments.tsv"
            service = Service(program, folder, "--record", str(record), "--queries", str(SHOP / "clicks.tsv"))
            page = Page(width, height, scheme)
            try:
                walk(service, page, pictures, judged)
                port = service.url.rsplit(":", 1)[1]
                service.stop()
                page.one("#query").send_keys("x")
                page.until("an error when the service has stopped", lambda: "does not answer" in page.one("#alert").text)
                page.shoot(pictures, "stopped")
                page.accessible("stopped")
                service = Service(program, folder, listen=f"127.0.0.1:{port}")
                page.until("no error when it is there again", lambda: not page.one("#alert").is_displayed() and page.all("#lists li"))
            finally:
                page.browser.quit()
                service.process.kill()
    subprocess.run([program, "evaluate", "--judged", str(judged), "bm25"], check=True, capture_output=True)
    print("page: typed, filtered, explained, compared, judged, stopped and came back; axe finds nothing serious")


def check_marks(service, page, query, selectors):
    """What is marked in the query's words and in the titles is what the service says are keywords, and bold what the query has too."""
    answer = service.get(f"/search?q={query}&k=12&keywords=true&matched=true")
    texts = lambda selector, within: [mark.text.lower() for mark in within.find_elements("css selector", selector)]
    assert answer["keywords"] and any(hit["keywords"] for hit in answer["results"]), answer
    page.until("keywords of the query", lambda: texts("mark", page.one("#known")) == [word["text"] for word in answer["words"] if word["text"] in answer["keywords"]])
    # Weak matches come last.
    shown = sorted(answer["results"], key=lambda hit: hit.get("confidence", 1) < 0.5)
    for hit, link in zip(shown, page.all("#lists li a"), strict=True):
        assert link.text == hit["title"], (link.text, hit)
        words = [word for word in re.findall(r"[^\W_]+", hit["title"].lower()) if word in hit["keywords"]]
        assert texts("mark", link) == words, (link.get_attribute("innerHTML"), hit)
        words = [word for word in re.findall(r"[^\W_]+", hit["title"].lower()) if word in hit["matched"]]
        assert texts("b", link) == words, (link.get_attribute("innerHTML"), hit)
    for selector in selectors:
        assert any(texts(selector, link) for link in page.all("#lists li a")), selector


def walk(service, page, pictures, judged):
    from selenium.webdriver.common.keys import Keys

    count = lambda query: len(service.get(f"/search?q={query}&k=12")["results"])
    page.browser.get(service.url + "/?q=leather+sofa&why=1")
    page.until("titles of an address", lambda: len(page.all("#lists li")) == count("leather+sofa"))
    check_marks(service, page, "leather+sofa", ["mark", "b"])
    page.browser.get(service.url)
    page.until("the index's facts", lambda: page.one("#about").get_attribute("textContent").startswith("Name"))
    page.until("the start", lambda: page.one("#about-line").text.startswith("168 titles · index made") and len(page.all("#examples a")) == 10)
    assert page.browser.switch_to.active_element.get_attribute("id") == "query"
    page.shoot(pictures, "start")
    page.accessible("start")
    page.fits("start")
    page.one("#query").send_keys("lether couch")
    titles = count("lether+couch")
    page.until("titles as one types", lambda: len(page.all("#lists li")) == titles)
    page.until("the address", lambda: "q=lether+couch" in page.browser.current_url)
    # Suggestions: the arrows point at one, Escape closes them.
    page.until("suggestions", lambda: "leather couch 3-seat" in page.one("#suggestions").text)
    page.shoot(pictures, "suggestions")
    page.accessible("suggestions")
    page.one("#query").send_keys(Keys.ARROW_DOWN)
    page.until("a suggestion", lambda: page.one("#suggestions [aria-selected=true]").get_attribute("id") == page.one("#query").get_attribute("aria-activedescendant"))
    page.one("#query").send_keys(Keys.ESCAPE)
    page.until("no suggestions", lambda: not page.one("#suggestions").is_displayed() and page.one("#query").get_attribute("value") == "lether couch")
    page.one("#query").send_keys(Keys.ENTER)
    assert not page.all("#lists mark") and not page.all(".reason")
    page.shoot(pictures, "search")
    page.accessible("search")
    page.fits("search")
    # A filter, and away with it.
    if not page.one("#filters details").get_attribute("open"):
        page.click(page.one("#filters summary"))
    brand = page.all("#filters input[type=checkbox]")[0]
    name, found = brand.find_element("xpath", "..").text.split("\n")[0], int(page.all("#filters label small")[0].text)
    page.click(brand)
    page.until("titles of a brand", lambda: len(page.all("#lists li")) == found and name in page.one("#chosen").text and f"filter=brand%3D{name}" in page.browser.current_url)
    page.shoot(pictures, "filter")
    page.accessible("filter")
    page.click(page.one("#chosen button"))
    page.until("all titles", lambda: len(page.all("#lists li")) == titles and "filter" not in page.browser.current_url)
    page.click(page.one(".switch"))
    page.until("numbers", lambda: len(page.all(".reason")) == titles and "why=1" in page.browser.current_url)
    check_marks(service, page, "lether+couch", ["mark", "b"])
    page.shoot(pictures, "numbers")
    page.accessible("numbers")
    page.fits("numbers")
    # Modes: side by side has three lists.
    page.click(page.one("input[value=side]").find_element("xpath", ".."))
    page.until("three lists", lambda: len(page.all("#lists section")) == 3)
    page.shoot(pictures, "side")
    page.fits("side by side")
    page.browser.back()
    page.until("one list again", lambda: len(page.all("#lists section")) == 1 and page.one("input[value=fused]").is_selected())
    # Two indexes beside each other, with what differs.
    page.browser.get(service.url + "/?q=lether+couch&with=few")
    page.until("two lists", lambda: [of.text for of in page.all("#lists h2")] == ["shop", "few"] and "in both lists" in page.one("#status").text)
    assert "New" in page.one("#lists section").text and "Gone" not in page.one("#lists").text
    page.shoot(pictures, "compared")
    page.accessible("compared")
    page.fits("compared")
    page.browser.get(service.url + "/?q=lether+couch&why=1")
    page.until("one list", lambda: len(page.all(".reason")) == titles)
    # By keyboard to the second title and into its explanation.
    page.one("#query").send_keys(Keys.ARROW_DOWN)
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    second = page.all("#lists li a")[1]
    assert page.browser.switch_to.active_element == second
    name = second.text
    second.send_keys(Keys.ENTER)
    page.until("an explanation", lambda: page.one("#why").get_attribute("open") is not None and page.one("#why-title").text == name)
    page.until("heat maps", lambda: len(page.all("#why svg rect.l16")) > 0 and "Shared cells" in page.one("#why-body").text)
    assert "by meaning: " in page.one(".told").text
    assert "id=" in page.browser.current_url
    page.shoot(pictures, "explain")
    page.accessible("explanation")
    page.fits("explanation")
    address = page.browser.current_url
    page.browser.back()
    page.until("the list after going back", lambda: page.one("#why").get_attribute("open") is None)
    # The address alone brings the explanation back; Escape closes it.
    page.browser.get(address)
    page.until("the explanation from its address", lambda: page.one("#why-title").text == name)
    page.one("#close").send_keys(Keys.ESCAPE)
    page.until("no explanation after Escape", lambda: page.one("#why").get_attribute("open") is None and "id=" not in page.browser.current_url)
    page.click(page.one(".compare"))
    page.until("why one is above another", lambda: "above" in page.one("#why-title").text and "total" in page.one("#why-body").text)
    assert re.search(r"In the fused list it has [\d.]+ and the other [\d.]+: vectors −?[\d.]+(, words −?[\d.]+)?\.", page.one("#why-body").text), page.one("#why-body").text
    page.shoot(pictures, "above")
    page.click(page.one("#close"))
    # Thumbs.
    up = page.all(".thumbs button")[0]
    page.click(up)
    page.until("a judgment", lambda: up.get_attribute("aria-pressed") == "true" and "lether couch\t" in judged.read_text())
    page.click(up)
    page.until("no judgment", lambda: up.get_attribute("aria-pressed") == "false" and "lether couch\t" not in judged.read_text())
    page.click(page.all(".thumbs button")[0])
    page.click(page.all(".thumbs button")[3])
    page.until("two judgments", lambda: judged.read_text().count("\n") == 3)
    # What nobody can find.
    page.one("#query").clear()
    page.one("#query").send_keys("?!")
    page.until("no title", lambda: "No title" in page.one("main").text)
    page.one("#query").clear()
    page.one("#query").send_keys("lether couch")
    page.until("titles again", lambda: len(page.all("#lists li")) == titles)
    faults = [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not faults, faults


def check_judge(program, folder, pictures):
    from selenium.webdriver.common.keys import Keys

    # One that finds a single title, whatever is searched, is soon found to be worse.
    queries, poor = folder / "queries.txt", folder / "poor.run"
    clicks = (SHOP / "clicks.tsv").read_text().splitlines()[1:]
    queries.write_text("\n".join(dict.fromkeys(line.split("\t")[0] for line in clicks)))
    first_title = (SHOP / "titles.tsv").read_text().splitlines()[1].split("\t")[1]
    poor.write_text("".join(f"{number} Q0 p000 1 1 poor\n" for number in range(1, len(clicks))))
    for width, height in [(390, 844), (1200, 900)]:
        for scheme in ["light", "dark"]:
            sheet = folder / f"sheet-{width}-{scheme}.tsv"
            command = [program, "judge", str(folder / "shop.index"), "--against", str(poor), "--queries", str(queries), "--output", str(sheet)]
            judge = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            address = next(line for line in judge.stderr if "http://" in line).split()[1]
            page = Page(width, height, scheme)
            body = lambda: page.one("body")
            graded = lambda: sum(line.rsplit("\t", 1)[1] != "" for line in sheet.read_text().splitlines()[1:])
            try:
                page.browser.get(address)
                page.until("titles", lambda: page.all("#titles li.here"))
                first, titles = page.one("#query").text, len(page.all("#titles li"))
                # Faster than the answers come.
                body().send_keys("41")
                page.until("two grades", lambda: graded() == 2 and f"{titles - 2} titles left" in page.one("#status").text)
                page.shoot(pictures, "judge")
                page.accessible("judge")
                page.fits("judge")
                body().send_keys("u" + "0" + Keys.ARROW_UP + "3")
                page.until("another grade", lambda: page.all("#titles li")[1].find_element("css selector", "[aria-pressed=true]").text[0] == "3")
                body().send_keys("2" * (titles - 2))
                page.until("the next query", lambda: page.one("#query").text not in ("", first) and graded() == titles)
                body().send_keys("u")
                page.until("the first query again", lambda: page.one("#query").text == first and graded() == titles - 1)
                page.all("#titles li")[-1].find_element("css selector", "button").click()
                body().send_keys("4")
                page.until("the next query again", lambda: page.one("#query").text != first and "1 query judged" in page.one("#status").text)
                second = page.one("#query").text
                body().send_keys("s")
                page.until("the query after the skipped one", lambda: page.one("#query").text not in (first, second))
                for _ in range(30):
                    if page.one("#verdict").is_displayed():
                        break
                    before = page.one("#query").text
                    body().send_keys("".join("0" if title.text.startswith(first_title) else "4" for title in page.all("#titles li .title")))
                    page.until("another query", lambda: page.one("#query").text != before)
                page.shoot(pictures, "enough")
                page.accessible("enough")
                page.fits("enough")
                page.one("#finish").click()
                page.until("the end", lambda: "Finished" in page.one("#alert").text)
                assert judge.wait(30) == 0 and "95 % interval" in judge.stdout.read()
                faults = [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"]
                assert not faults, faults
            finally:
                page.browser.quit()
                judge.kill()
    print("judge: graded, undone, skipped and finished; axe finds nothing serious")


def main():
    program = str(pathlib.Path(sys.argv[1]).absolute())
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        prepare(program, folder)
        tokens = folder / "tokens"
        tokens.write_text(f"admin {TOKEN}\n")
        # A batch of the longest texts must fit into a body, so that its own limit is what refuses it.
        service = Service(program, folder, "--limit", f"body={64 << 20}", "--tokens", str(tokens), "--record", str(folder / "record"))
        try:
            check_openai(service)
            check_description(service, folder)
        finally:
            service.process.kill()
        check_page(program, folder, pictures)
        check_judge(program, folder, pictures)


if __name__ == "__main__":
    main()

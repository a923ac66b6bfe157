"""Drives the page of `playground serve` in headless Chromium, and takes screenshots into target/browser."""

import os
import re
import subprocess
import sys

from webdriver import Browser

OUT = "target/browser"
BINARY = os.environ.get("PLAYGROUND", "target/debug/playground")
# Each of many rules needs an automaton of many thousand states.
def hostile(first, last):
    """Returns a grammar of many large automata over five letters; of others nothing is known from a compile before."""
    a, b = first, chr(ord(first) + 1)
    rules = [
        f'r{n} ::= ([{a}{b}]* "{a}" [{a}{b}]{{13}} [{chr(ord(b) + 1)}-{last}]{{{n}}}) & ([{a}-{last}]* - ([{a}-{last}]* "{b}{a}" [{a}-{last}]{{10}}))'
        for n in range(200)
    ]
    return "\n".join(["root ::= " + " | ".join(f"r{n}" for n in range(200))] + rules)


GOOD = "/complete|refused|^incomplete/.test(document.querySelector('#document-status').innerText)"


def status(browser, word):
    return browser.until(f"the document is {word}", lambda: (browser.text("#document-status") or "").startswith(word))


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def begin(browser, url):
    browser.open(url)
    browser.until("the page is filled", "document.querySelectorAll('.chip').length > 3 && document.querySelectorAll('#tokens button').length > 0", 90)


def test_first_look(browser, url):
    begin(browser, url)
    status(browser, "incomplete")
    expect("EBNF" in browser.text("#grammar-status") and "compiled in" in browser.text("#grammar-status"), browser.text("#grammar-status"))
    expect("of 100,277 tokens allowed" in browser.text("#next-summary"), browser.text("#next-summary"))
    expect(len(browser.text("#expected")) > 10, "what is expected is shown")
    browser.page_screenshot(f"{OUT}/light.png", 1440)
    browser.metrics(1440, 1000)


def test_examples(browser, url):
    names = browser.script("return [...document.querySelectorAll('#example option')].slice(1).map((o) => o.text)")
    expect(len(names) >= 8, names)
    for name in names:
        browser.choose("#example", name)
        browser.until(f"example {name} compiles", f"document.querySelector('#grammar').value.length > 0 && document.querySelector('#grammar-status').innerText.includes('compiled in') && {GOOD}")
        browser.until(f"example {name} is quiet", "document.body.getAttribute('aria-busy') !== 'true'")
        expect(browser.text("#grammar-messages") == "", f"{name}: {browser.text('#grammar-messages')}")


def test_error(browser, url):
    browser.set("#grammar", 'root ::= "a" item*\nitem ::= "b" | nubmer\nnumber ::= [0-9]+\n')
    browser.until("an error is shown", "document.querySelector('#grammar-messages .error')")
    message = browser.text("#grammar-messages")
    expect("nubmer" in message and "line 2, column 16" in message and "^" in message and "Hint" in message, message)
    expect(browser.script("return document.querySelector('#grammar-editor mark.error').textContent") == "nubmer", "the rule is underlined")
    browser.page_screenshot(f"{OUT}/error.png", 1440)
    browser.metrics(1440, 1000)
    browser.click("#grammar-messages button.place")
    expect(browser.script("const a = document.querySelector('#grammar'); return a.value.slice(a.selectionStart, a.selectionEnd)") == "nubmer", "the place is selected")
    browser.set("#grammar", 'root ::= "a" item*\nitem ::= "b" | number\nnumber ::= [0-9]+\n')
    browser.until("the error is gone", "!document.querySelector('#grammar-messages .error')")


def test_tokens(browser, url):
    browser.set("#grammar", 'root ::= "select " name ("," " " name)* ";"\nname ::= [a-z]+ | "\\"" [^"]* "\\""\n')
    browser.set("#document", "select alpha, Beta;")
    status(browser, "refused at byte 14")
    verdicts = browser.script("return [...document.querySelectorAll('.chip')].map((c) => [c.querySelector('.text').innerText, c.className.replace('chip', '').trim()])")
    expect(verdicts[0] == ["select", "forced"], verdicts)
    expect([v for _, v in verdicts].count("refused") == 1 and verdicts[-1][1] == "after", verdicts)
    expect(browser.script("return document.querySelector('#document-editor mark.refused').textContent") == " Beta", "the refused token is underlined")
    browser.click(".chip.refused")
    browser.until("an explanation", "document.querySelector('#why .badge.no')")
    why = browser.text("#why")
    expect("can't follow" in why and "name" in why and "not allowed" in why, why)
    browser.page_screenshot(f"{OUT}/why-not.png", 1440)
    browser.metrics(1440, 1000)
    expect(browser.script("return document.activeElement.classList.contains('chip')"), "the token has the focus")
    browser.press("Left")
    expect(browser.script("return document.activeElement.innerText").startswith(","), "arrows move among tokens")
    browser.press("Enter")
    browser.until("an explanation of the token before", "document.querySelector('#why .badge.yes')")


def test_why_by_typing(browser, url):
    browser.set("#document", "select alpha")
    status(browser, "incomplete")
    browser.press("Alt", "4")
    expect(browser.script("return document.activeElement.id") == "why-token", "Alt+4 goes to the explanation")
    browser.type("#why-token", ", beta;")
    browser.press("Enter")
    browser.until("the text is allowed", "document.querySelector('#why .badge.yes')")
    browser.set("#why-token", "42")
    browser.press("Enter")
    browser.until("a number is an id", "document.querySelector('#why').innerText.includes('token 42')")


def test_allowed(browser, url):
    browser.press("Alt", "3")
    expect(browser.script("return document.activeElement.id") == "search", "Alt+3 goes to the search")
    browser.type("#search", "tion")
    browser.until("tokens are found", "[...document.querySelectorAll('#tokens button')].length > 0 && [...document.querySelectorAll('#tokens button')].every((b) => b.innerText.includes('tion'))")
    browser.set("#search", "")
    browser.until("all are shown", "/^1–60 of/.test(document.querySelector('#page').innerText) && [...document.querySelectorAll('#tokens button')].some((b) => !b.innerText.includes('tion'))")
    browser.click("#next")
    browser.until("the second page", "/^61–120 of/.test(document.querySelector('#page').innerText)")
    browser.script("[...document.querySelectorAll('#groups button')].at(-1).click()")
    browser.script("[...document.querySelectorAll('#groups button')].find((b) => b.innerText.startsWith(',')).click()")
    browser.until("a group", "document.querySelector('#tokens button') && [...document.querySelectorAll('#tokens button')].every((b) => b.innerText.startsWith(','))")
    browser.script("[...document.querySelectorAll('#tokens button')].find((b) => b.innerText === ',').click()")
    browser.until("a token is inserted", "document.querySelector('#document').value === 'select alpha,'")
    browser.until("text is forced", "!document.querySelector('#jump').disabled")
    browser.press("Alt", "j")
    browser.until("forced text is inserted", "document.querySelector('#document').value === 'select alpha, '")
    browser.press("Alt", "u")
    browser.until("one step back", "document.querySelector('#document').value === 'select alpha,'")
    browser.press("Alt", "r")
    browser.until("a random continuation", "document.querySelector('#document').value.endsWith(';')")
    status(browser, "complete")


def test_address(browser, url):
    browser.until("the address holds the state", "location.hash.length > 20")
    text = browser.value("#document")
    browser.until("the address is settled", lambda: (lambda before: __import__("time").sleep(0.6) or browser.script("return location.href") == before)(browser.script("return location.href")))
    address = browser.script("return location.href")
    browser.open("about:blank")
    browser.open(address)
    browser.until("the state comes back", lambda: browser.value("#document") == text)
    expect("select" in browser.value("#grammar"), "the grammar comes back")
    for broken in ["#d.AAAA", "#p.e30", "#p.bnVsbA", "#x.y", "#d.%00"]:
        browser.open("about:blank")
        begin(browser, url + broken) if broken != "#p.e30" else browser.open(url + broken)


def test_hostile(browser, url):
    begin(browser, url)
    browser.set("#grammar", hostile("a", "e"))
    browser.until("it is under way", "!document.querySelector('#busy').hidden")
    browser.page_screenshot(f"{OUT}/busy.png", 1440)
    browser.metrics(1440, 1000)
    # Another grammar ends the request, if it goes on: it is bounded, and a screenshot takes its time.
    browser.set("#grammar", 'root ::= "a"')
    browser.until("the server answers others", "document.querySelector('#grammar-status').innerText.includes('1 rule')")
    browser.until("nothing is under way", "document.querySelector('#busy').hidden")
    # So the page itself clicks, soon after the request began.
    browser.script("""
        const busy = document.querySelector("#busy");
        const click = () => document.querySelector("#cancel").click();
        new MutationObserver((_, observer) => {
            if (!busy.hidden) { observer.disconnect(); setTimeout(click, 50); }
        }).observe(busy, { attributes: true });""")
    browser.set("#grammar", hostile("v", "z"))
    browser.until("it is cancelled", "document.querySelector('#busy').hidden && document.querySelector('#notice').innerText.startsWith('Cancelled')")
    browser.set("#grammar", 'root ::= "a"')
    browser.until("the server answers again", "document.querySelector('#grammar-status').innerText.includes('1 rule')")


def test_unicode(browser, url):
    browser.set("#grammar", 'root ::= [^a-z]*')
    browser.set("#document", "日本語 🦀 É x")
    browser.until("offsets are those of characters", "document.querySelector('#document-editor mark.refused')?.textContent === ' x'")


def test_themes(browser, url):
    expect(browser.script("return document.documentElement.dataset.theme") == "light", "the system's theme")
    browser.click("#theme")
    browser.click("#theme")
    expect(browser.script("return document.documentElement.dataset.theme") == "dark", "a chosen theme")
    browser.choose("#example", "Schema: book a table")
    browser.until("the schema is explained", "document.querySelector('#expected').innerText.includes('pattern')")
    browser.page_screenshot(f"{OUT}/dark.png", 1440)
    browser.metrics(390, 844)
    expect(browser.script("return document.documentElement.scrollWidth <= 390"), "a narrow page does not scroll sideways")
    browser.page_screenshot(f"{OUT}/narrow-dark.png", 390)
    browser.click("#theme")
    browser.set("#document", '{"name": "book_table", "arguments": {"restaurant": {"id": "r-12x4"}, "guests": 2')
    status(browser, "refused")
    browser.click(".chip.refused")
    browser.until("an explanation", "document.querySelector('#why .badge.no')")
    expect("'x' can't follow" in browser.text("#why") and "[0-9]" in browser.text("#why"), browser.text("#why"))
    browser.page_screenshot(f"{OUT}/narrow.png", 390)
    browser.metrics(1440, 1000)


def test_schema_options(browser, url):
    browser.set("#grammar", '{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}}}')
    browser.set("#document", '{"b": null, "a": 1}')
    status(browser, "refused")
    expect(browser.script("return !document.querySelector('#schema-options').hidden"), "a schema has options")
    browser.click("#schema-options summary")
    browser.click("#any-order")
    status(browser, "complete")
    expect("1 changed" in browser.text("#schema-options summary"), browser.text("#schema-options summary"))
    browser.choose("#white-space", "None")
    status(browser, "refused")
    browser.page_screenshot(f"{OUT}/schema-options.png", 1440)
    browser.metrics(390, 844)
    expect(browser.script("return document.documentElement.scrollWidth <= 390"), "a narrow page does not scroll sideways")
    browser.page_screenshot(f"{OUT}/schema-options-narrow.png", 390)
    browser.metrics(1440, 1000)
    __import__("time").sleep(0.6)
    address = browser.script("return location.href")
    browser.open("about:blank")
    browser.open(address)
    status(browser, "refused")
    expect(browser.script("return document.querySelector('#any-order').checked && document.querySelector('#white-space').value === 'compact'"), "the address keeps the options")
    browser.choose("#example", "Arithmetic")
    browser.until("a grammar has no options of schemas", "document.querySelector('#schema-options').hidden")


def test_help_and_labels(browser, url):
    browser.click("#help")
    expect(browser.script("return document.querySelector('#help-dialog').open"), "help opens")
    browser.screenshot(f"{OUT}/help.png")
    browser.press("Escape")
    expect(not browser.script("return document.querySelector('#help-dialog').open"), "help closes")
    unnamed = browser.script(
        "return [...document.querySelectorAll('button, input, select, textarea')].filter((e) => !e.closest('dialog') && !(e.innerText?.trim() || e.ariaLabel || e.labels?.length)).map((e) => e.outerHTML)"
    )
    expect(unnamed == [], unnamed)


def main():
    os.makedirs(OUT, exist_ok=True)
    server = subprocess.Popen([BINARY, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    url = re.search(r"http://[^ ]+/", server.stdout.readline()).group()
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    only = sys.argv[1:]
    try:
        with Browser(1440, 1000) as browser:
            browser.metrics(1440, 1000)
            if only:
                begin(browser, url)
            for test in tests:
                if only and test.__name__ not in only:
                    continue
                test(browser, url)
                print("ok", test.__name__, flush=True)
            bad = [line for line in browser.log() if line["level"] in ("SEVERE", "WARNING") and "/api/" not in line["message"]]
            expect(bad == [], bad)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()

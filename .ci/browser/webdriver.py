"""A client of the WebDriver protocol: a session of headless Chromium, with the standard library alone."""

import base64
import json
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Alt": "\ue00a", "Control": "\ue009", "Right": "\ue014", "Left": "\ue012", "End": "\ue010"}


class Browser:
    """A browser; a context manager, which ends driver and browser."""

    def __init__(self, width, height, is_dark=False):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.split("port ")[1].strip().rstrip(".")
                self.base = f"http://127.0.0.1:{port}"
                break
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", f"--window-size={width},{height}"]
        if is_dark:
            args += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
        options = {"args": args, "binary": "/usr/bin/chromium"}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = None
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    def call(self, method, path, body=None):
        data = None if method in ("GET", "DELETE") else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        # A proxy of the environment has no business here.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def ask(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def script(self, text, *args):
        return self.ask("POST", "/execute/sync", {"script": text, "args": list(args)})

    def find(self, css):
        return self.ask("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css):
        self.ask("POST", f"/element/{self.find(css)}/click")

    def type(self, css, text):
        self.ask("POST", f"/element/{self.find(css)}/value", {"text": text})

    def set(self, css, text):
        """Replaces what a text area or input holds, as typing does."""
        self.script("const e = document.querySelector(arguments[0]); e.focus(); e.value = arguments[1]; e.dispatchEvent(new Event('input', {bubbles: true}));", css, text)

    def choose(self, css, label):
        self.script(
            "const e = document.querySelector(arguments[0]); e.value = [...e.options].find((o) => o.text === arguments[1]).value; e.dispatchEvent(new Event('change', {bubbles: true}));",
            css, label,
        )

    def press(self, *keys):
        down = [{"type": "keyDown", "value": KEYS.get(key, key)} for key in keys]
        up = [{"type": "keyUp", "value": KEYS.get(key, key)} for key in reversed(keys)]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": down + up}]})

    def text(self, css):
        return self.script("return document.querySelector(arguments[0])?.innerText ?? null", css)

    def value(self, css):
        return self.script("return document.querySelector(arguments[0]).value", css)

    def until(self, what, condition, seconds=30):
        """Waits until a condition, a function or a script, holds, and returns its value."""
        check = condition if callable(condition) else lambda: self.script(f"return {condition}")
        end = time.monotonic() + seconds
        while True:
            found = check()
            if found:
                return found
            if time.monotonic() > end:
                self.screenshot("target/browser/failed.png")
                raise AssertionError(f"waited in vain: {what}")
            time.sleep(0.05)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def page_screenshot(self, path, width):
        """A picture of the whole page."""
        height = self.script("return document.documentElement.scrollHeight")
        self.metrics(width, height)
        self.screenshot(path)

    def metrics(self, width, height):
        """Sets the size of the page: windows can't be as narrow as telephones."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": metrics})

    def log(self):
        return self.ask("POST", "/se/log", {"type": "browser"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

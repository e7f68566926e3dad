"""Headless Chromium, spoken to by the W3C's WebDriver protocol: JSON over HTTP.

Both programs come from the system's packages (chromium, chromium-driver).
"""

import base64
import io
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

from PIL import Image

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
_START_SECONDS = 20
_COLOURS = 96
_ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"),
    # No page of a test has anything to fetch.
    *("--disable-background-networking", "--no-first-run", "--hide-scrollbars"),
)


class Browser:
    """A window; selectors are CSS."""

    def __init__(self, address, session):
        self._base = f"{address}/session/{session}"

    def _ask(self, method, path, **body):
        return ask(f"{self._base}/{path}", method, body)

    def open(self, url):
        self._ask("POST", "url", url=url)

    def run(self, script, *words):
        """Return what a function's body returns."""
        return self._ask("POST", "execute/sync", script=script, args=list(words))

    def wait(self, script, seconds=20.0):
        """Return what an expression says as soon as that is true."""
        end = time.monotonic() + seconds
        while not (said := self.run(f"return {script}")):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)
        return said

    def _find(self, selector):
        found = self._ask("POST", "element", using="css selector", value=selector)
        return found[_ELEMENT]

    def click(self, selector):
        self._ask("POST", f"element/{self._find(selector)}/click")

    def type(self, selector, text):
        self._ask("POST", f"element/{self._find(selector)}/value", text=text)

    def resize(self, width, height):
        """Make the page's own place this large, whatever the window's frame takes."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def command(self, name, **parameters):
        """Give one of Chromium's own commands."""
        return self._ask("POST", "goog/cdp/execute", cmd=name, params=parameters)

    def dress(self, **features):
        """Show what style sheets are asked for: prefers_color_scheme, or media."""
        media = features.pop("media", "")
        named = [
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()
        ]
        self.command("Emulation.setEmulatedMedia", media=media, features=named)

    def list_faults(self):
        """Return what the console told since it was asked last, but for mere notes."""
        told = self._ask("POST", "se/log", type="browser")
        return [one["message"] for one in told if one["level"] in {"SEVERE", "WARNING"}]

    def save_picture(self, path):
        """Save what is seen, in the few colours that a page has."""
        seen = Image.open(io.BytesIO(base64.b64decode(self._ask("GET", "screenshot"))))
        seen.convert("RGB").quantize(_COLOURS).save(path, optimize=True)


def ask(url, method, body):
    """Return the value of an answer.

    Raises: AssertionError, with what the driver says.
    """
    told = json.dumps(body).encode() if method == "POST" else None
    request = urllib.request.Request(url, told, method=method)  # noqa: S310 - loopback
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - the same
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(error.read().decode()[:2000]) from None


@contextmanager
def open_browser(folder, width=1280, height=900):
    """Start a browser that keeps what it keeps in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    log = (folder / "chromedriver.log").open("wb")
    driver = subprocess.Popen(
        [DRIVER, f"--port={port}"], stdout=log, stderr=log, stdin=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address)
        options = {
            "binary": CHROMIUM,
            "args": [*_ARGUMENTS, f"--user-data-dir={folder / 'profile'}"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        body = {"capabilities": {"alwaysMatch": wanted}}
        session = ask(f"{address}/session", "POST", body)["sessionId"]
        browser = Browser(address, session)
        browser.resize(width, height)
        yield browser
        ask(f"{address}/session/{session}", "DELETE", {})
    finally:
        driver.terminate()
        driver.wait(timeout=20)
        log.close()


def _wait_for(address):
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            if ask(f"{address}/status", "GET", {})["ready"]:
                return
        except OSError:
            assert time.monotonic() < end, "chromedriver does not start"
        time.sleep(0.1)

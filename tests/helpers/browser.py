"""A headless Chromium, driven through its own protocol over a websocket."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "PGMX_BROWSER_TESTS"  # "required": a missing browser is a failure
PATIENCE = 60.0


def find_chromium():
    """Return the path of a Chromium, None without one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def require_chromium():
    """Skip the test by name where there is no browser, fail where there must be one."""
    path = find_chromium()
    if path is None and os.environ.get(REQUIRED) == "required":
        pytest.fail(f"no Chromium, and {REQUIRED}=required: install one, on Debian `apt-get install chromium`")
    if path is None:
        pytest.skip("no Chromium to test the report in: on Debian `apt-get install chromium`")
    return path


class Browser:
    """One page of a headless Chromium; `problems` are its errors and what it would have loaded."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.loop = asyncio.new_event_loop()
        self.process = subprocess.Popen(
            [
                require_chromium(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                f"--user-data-dir={self.folder / 'profile'}",
                "--window-size=1400,1000",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.problems, self.events, self.number = [], [], 0
        self.socket = self._run(self._connect())
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.downloads = self.folder / "downloads"
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))

    def _run(self, task):
        return self.loop.run_until_complete(asyncio.wait_for(task, PATIENCE))

    async def _connect(self):
        from tornado.httpclient import AsyncHTTPClient
        from tornado.websocket import websocket_connect

        port_file = self.folder / "profile" / "DevToolsActivePort"
        while not port_file.exists() or not port_file.read_text().strip():
            assert self.process.poll() is None, "Chromium ended"
            await asyncio.sleep(0.05)
        port = port_file.read_text().split()[0]
        answer = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json")
        page = next(target for target in json.loads(answer.body) if target["type"] == "page")
        return await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=2**27)

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self.number += 1
        return self._run(self._call(self.number, method, parameters))

    async def _call(self, number, method, parameters):
        await self.socket.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self.socket.read_message())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self._note(message.get("method"), message.get("params", {}))

    def _note(self, event, facts):
        if event == "Runtime.exceptionThrown":
            details = facts["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning"):
            self.problems.append(" ".join(str(one.get("value", one.get("description"))) for one in facts["args"]))
        elif event == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.problems.append(facts["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            url = facts["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:")):
                self.problems.append(f"a request to {url}")

    def open(self, path, *, dark=False):
        """Open a file and wait until its scripts are done."""
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=media)
        self.call("Page.navigate", url=Path(path).as_uri())
        self.wait_for("document.body && document.body.dataset.ready === 'yes'")

    def wait_for(self, condition):
        """Wait until a condition holds in the page."""
        end = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"{condition} never became true; problems: {self.problems}"
            time.sleep(0.05)

    def evaluate(self, script):
        """Return the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def click(self, x, y):
        """Click a place of the window with a real mouse event."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type_text(self, selector, text):
        """Type into a field and press Enter."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)

    def save_screenshot(self, path, *, whole=False):
        """Write a PNG of the window, or of the whole page."""
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(picture["data"]))

    def print_pdf(self):
        """Return the bytes of the page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def wait_for_download(self, name):
        """Return the text of a file that the page saves."""
        path, end = self.downloads / name, time.monotonic() + PATIENCE
        while not path.exists() or not path.stat().st_size:
            assert time.monotonic() < end, f"no {name} in {list(self.downloads.glob('*'))}"
            time.sleep(0.05)
        return path

    def close(self):
        """End the browser."""
        self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

# SPDX-License-Identifier: Apache-2.0
"""A browser that a test drives: Chromium by the DevTools protocol over a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/: requests and answers are JSON, each ended by a
zero byte; nothing listens on a port. Only what a page's test needs.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One tab. `problems` gathers what a page's console says and what it asks of a network."""

    def __init__(self, program, seconds=60):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # it may still write
        self.seconds = seconds
        self.sent = 0
        self.rest = b""
        self.events = []
        self.problems = []
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        # It reads requests from descriptor 3 and writes answers to 4.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', program,
             "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--proxy-server=127.0.0.1:9",
             f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"],
            env={**os.environ, "TMPDIR": self.folder.name},
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        self.folder.cleanup()

    def read(self):
        """The next message, or an end of patience."""
        until = time.monotonic() + self.seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.into], [], [], max(0, until - time.monotonic()))
            data = os.read(self.into, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser says nothing")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method = message.get("method", "")
        told = message.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.problems.append(f"console: {json.dumps(told)[:300]}")
        elif method == "Network.requestWillBeSent":
            url = told["request"]["url"]
            if not url.startswith(("file:", "about:", "data:")):
                self.problems.append(f"asks the network for {url}")
        self.events.append(method)

    def call(self, method, **parameters):
        self.sent += 1
        request = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.sent:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    # ---- what a reader has and does ----

    def open(self, path, width=1440, scheme="light", script=True):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media="screen", features=[
            {"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while "Page.loadEventFired" not in self.events:
            self.note(self.read())

    def ask(self, expression):
        """The value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression[:200]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def point(self, x, y, press=False):
        for kind in ["mouseMoved"] + (["mousePressed", "mouseReleased"] if press else []):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=1 if press else 0)

    def press(self, key):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
        text = {"text": "\r"} if key == "Enter" else {}  # a button takes the sign, not the key
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=codes.get(key, 0), **text)

"""A headless Chromium, driven over a pipe by its own debugging protocol: no driver, no package, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in _NAMES if (found := shutil.which(name))), None)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
    "--disable-dev-shm-usage", "--remote-debugging-pipe", "--hide-scrollbars",
)  # fmt: skip
# Chromium reads commands from descriptor 3 and writes answers to 4, whatever the pipe's own numbers are.
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page at a time; everything the page asked for or complained about is recorded."""

    def __init__(self, profile: Path, *, patience: float = 60):
        self.patience = patience
        self.number, self.events, self.rest = 0, [], b""
        read_end, self.to = os.pipe()
        self.source, write_end = os.pipe()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _START,
                str(read_end),
                str(write_end),
                CHROMIUM,
                *_FLAGS,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(read_end, write_end),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.ask("Network.emulateNetworkConditions", **offline)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.source)

    def ask(self, method: str, **parameters):
        """Send a command and wait for its answer; events on the way are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.patience
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str):
        """Wait until an event has come."""
        deadline = time.monotonic() + self.patience
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive(deadline))

    def open(self, path: Path, *, width: int = 1000, height: int = 900, dark: bool = False, paper: bool = False):
        """Open a file and forget what the page before did."""
        self.events.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", media="print" if paper else "", features=scheme)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def run(self, script: str):
        """Value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the page."""
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"])[:500] for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """Every address the page asked for, the page itself included."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [entry["request"]["url"] for entry in sent]

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """Screenshot."""
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def _receive(self, deadline: float) -> dict:
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise TimeoutError("the browser did not answer")
            block = os.read(self.source, 1 << 20)
            if not block:
                raise RuntimeError("the browser ended")
            self.rest += block
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its DevTools protocol over a pipe: no other package is needed.

    with Page("t.html", width=1200, height=900, dark=False) as page:
        page.value("document.title")
        page.move(300, 200); page.key("+"); page.picture("t.png"); page.errors
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """Returns the program, or None."""
    return os.environ.get("ANTIPHASE_BROWSER") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
    )


class Page:
    """A page in its own browser. `errors`: messages of the console, and exceptions."""

    def __init__(self, path, width=1200, height=900, dark=False, timeout=60):
        self.deadline = time.monotonic() + timeout
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        out_of, into = os.pipe(), os.pipe()  # the browser reads from 3 and writes to 4

        self.process = subprocess.Popen(
            [
                "sh",
                "-c",
                'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"',
                "sh",
                str(out_of[0]),
                str(into[1]),
                find(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-pipe",
                f"--user-data-dir={self.profile.name}",
                f"--window-size={width},{height}",
                "about:blank",
            ],
            pass_fds=(out_of[0], into[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(out_of[0]), os.close(into[1])
        self.to, self.answers = out_of[1], into[0]
        self.rest, self.number, self.session, self.errors, self.loaded = b"", 0, None, [], False
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            self.requests = []
            self.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
            self.call(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
            )
            self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
            while not self.loaded:
                self.read()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to), os.close(self.answers)
        self.profile.cleanup()

    def read(self):
        """Returns the next message; records events."""
        while b"\0" not in self.rest:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.rest += more
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        event, about = message.get("method"), message.get("params", {})
        if event == "Runtime.exceptionThrown":
            self.errors.append(
                about["exceptionDetails"].get("exception", {}).get("description")
                or about["exceptionDetails"]["text"]
            )
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Page.loadEventFired":
            self.loaded = True
        return message

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        """Returns the value of a JavaScript expression, after pending drawing."""
        code = f"new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done({expression}))))"
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, whole=True):
        shot = self.call(
            "Page.captureScreenshot",
            format="png",
            captureBeyondViewport=whole,
            **(
                {
                    "clip": {
                        **{k: v for k, v in self.call("Page.getLayoutMetrics")["cssContentSize"].items()},
                        "scale": 1,
                    }
                }
                if whole
                else {}
            ),
        )
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

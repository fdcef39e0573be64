#!/usr/bin/env python3
"""Checks the page in a real browser: `browser.py BUILD`; BUILD is the directory with `supervisor` and `faulty-worker`.

The program starts a supervisor, a dashboard and a headless Chromium of its own, uses the page as a person does, and
ends with 1 if the page does not show what it has to. It needs only `chromium` and the standard library.
"""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import queue
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

FIXTURES = pathlib.Path(__file__).resolve().parent.parent
# Seconds, for each step.
PATIENCE = 60
CONFIGURATION = """{
  control: "run/supervisor.sock",
  workers: [
    { name: "dashboard", executable: %(dashboard)s, control: true, environment: { DASHBOARD_TOKEN: %(token)s },
      arguments: ["--port", "%(port)s", "--control", "run/supervisor.sock"], handshake: "1m",
      limits: { overflow: { "*": "drop-oldest" } } },
    { name: "worker", executable: %(worker)s, arguments: ["--misbehave", "throw-on:bad"], handshake: "1m",
      subscribes: ["WorkRequested"] },
    { name: "counter", executable: %(counter)s, subscribes: ["TextReceived"], publishes: ["WordsCounted"] },
    { name: "list", executable: %(list)s, subscribes: ["WordsCounted"], publishes: ["TextListed"] },
  ],
}"""


class Failure(Exception):
    """A failure of the page, as a sentence."""


class Supervisor:
    """A supervisor with a dashboard and workers, in a directory of its own."""

    def __init__(self, build, directory, port, token):
        self.directory = directory
        values = {
            "dashboard": FIXTURES / "dashboard-worker" / "worker.py", "worker": build / "faulty-worker",
            "counter": FIXTURES / "python-worker" / "worker.py", "list": FIXTURES / "shell-worker" / "worker.sh",
            "token": token,
        }  # fmt: skip
        shown = {key: json.dumps(str(value)) for key, value in values.items()}
        (directory / "bridge.json5").write_text(CONFIGURATION % dict(shown, port=port))
        self.program = build / "supervisor"
        self.process = subprocess.Popen(
            [self.program, "run", "bridge.json5"], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def wait_until_ready(self, count):
        for line in self.process.stderr:
            count -= "is ready" in line
            if count == 0:
                # Without a reader, later output would fill the pipe.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise Failure("the supervisor has ended before its workers were ready")

    def command(self, *words):
        subprocess.run([self.program, *words, "--control", "run/supervisor.sock"], cwd=self.directory, check=True,
                       timeout=PATIENCE, stdout=subprocess.DEVNULL)  # fmt: skip

    def close(self):
        self.process.terminate()
        self.process.wait()


class Browser:
    """A headless Chromium, through the pipes of its DevTools protocol: messages of JSON with a NUL behind each."""

    def __init__(self, program, profile):
        inward, self.outward = os.pipe()
        self.inward, outward = os.pipe()

        def take_pipes():
            # Chromium demands the descriptors 3 and 4. Copies come first, because one pipe may have the other's number.
            copies = os.dup(inward), os.dup(outward)
            for number, copy in zip((3, 4), copies):
                os.dup2(copy, number)

        # Chromium's own box needs namespaces, which the superuser of a container may not have.
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
             "--disable-gpu", "--window-size=1400,1000", "--disable-dev-shm-usage", *flags, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=take_pipes,
        )  # fmt: skip
        os.close(inward)
        os.close(outward)
        self.count, self.session, self.complaints = 0, None, []
        self.answers, self.is_loaded = queue.SimpleQueue(), threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with open(self.inward, "rb") as stream:
            rest = b""
            while data := stream.read1(1 << 16):
                *whole, rest = (rest + data).split(b"\0")
                for text in whole:
                    self._take(json.loads(text))
        self.answers.put({"error": {"message": "the browser has ended"}})

    def _take(self, message):
        if "id" in message:
            self.answers.put(message)
        elif message["method"] == "Page.loadEventFired":
            self.is_loaded.set()
        elif message["method"] == "Runtime.exceptionThrown":
            self.complaints.append(message["params"]["exceptionDetails"].get("text", "an exception"))
        # Network entries are the refusals that the page is meant to get here.
        elif message["method"] == "Log.entryAdded" and message["params"]["entry"]["source"] != "network":
            self.complaints.append(message["params"]["entry"]["text"])

    def ask(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outward, json.dumps(message).encode() + b"\0")
        try:
            answer = self.answers.get(timeout=PATIENCE)
        except queue.Empty:
            raise Failure(f"the browser has not answered {method} in {PATIENCE} s") from None
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, address):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        # The empty page may have been loaded just now.
        self.value("document.title")
        self.is_loaded.clear()
        self.ask("Page.navigate", url=address)
        if not self.is_loaded.wait(PATIENCE):
            raise Failure(f"the page is not loaded in {PATIENCE} s")

    def value(self, expression):
        """The value of the expression, or of its promise, in the page."""
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise Failure(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition, what):
        """Returns when the condition holds in the page: it is evaluated after each change of the document."""
        found = self.value(f"""new Promise(resolve => {{
            const end = setTimeout(() => {{ watch.disconnect(); resolve(false); }}, {PATIENCE // 2 * 1000});
            const look = () => {{
                if (!({condition})) return;
                clearTimeout(end);
                watch.disconnect();
                resolve(true);
            }};
            const watch = new MutationObserver(look);
            watch.observe(document.documentElement,
                {{ subtree: true, childList: true, characterData: true, attributes: true }});
            look();
        }})""")
        if not found:
            raise Failure(f"the page does not show {what}; it shows: {self.value('document.body.innerText')}")
        print(f"seen: {what}", flush=True)

    def place(self, element):
        """The middle of an element, which is brought into view."""
        found = self.value(f"""(() => {{
            const element = {element};
            if (!element) return null;
            element.scrollIntoView({{ block: "center", behavior: "instant" }});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        if found is None:
            raise Failure(f"the page has no {element}")
        return found

    def click(self, element, meanwhile=lambda: None):
        """Presses the mouse on an element, and lets it go."""
        x, y = self.place(element)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        meanwhile()
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)

    def write(self, field, text):
        """Replaces the text of a field."""
        self.click(f'at("{field}")')
        self.value(f'at("{field}").select()')
        self.ask("Input.insertText", text=text)

    def picture(self, file):
        self.value("scrollTo(0, 0)")
        height = self.value("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": 1400, "height": height, "scale": 1}
        data = self.ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()


def row(table, text):
    """An expression for the first row with this text."""
    return f'[...at("{table}").rows].slice(1).find(row => row.innerText.includes({json.dumps(text)}))'


def button(table, text, label):
    found = f"button => button.textContent === {json.dumps(label)}"
    return f"[...({row(table, text)}?.querySelectorAll('button') ?? [])].find({found})"


def shows(field, text):
    return f'at("{field}").textContent.includes({json.dumps(text)})'


def publish(browser, name, data):
    browser.write("type", name)
    browser.write("data", data)
    browser.click('document.querySelector("#publish button")')


def use(browser, supervisor, token):
    """Does what a person does with the page, in this order."""
    browser.wait('at("workers").rows.length === 5 && at("trouble").textContent === ""', "four workers and no trouble")
    browser.wait('document.querySelectorAll("#graph rect").length >= 4', "the graph")
    browser.wait('!at("commands").hidden', "the field for the token")
    restart = button("workers", "worker", "Restart")
    browser.write("token", "a token of another dashboard")
    browser.click(restart)
    browser.wait(shows("answer", "Authorization is not the token"), "that a wrong token is refused")
    browser.write("token", token)
    # A hand is slower than the page, which renews its tables each second.
    browser.value('window.shown = at("host").textContent')
    renewed = 'at("host").textContent !== window.shown'
    browser.click(restart, lambda: browser.wait(renewed, "news while the button is held"))
    browser.wait('at("answer").textContent === "done"', "that the restart is done")
    start = row("history", "ready: process") + "?.innerText.includes('start 2')"
    browser.wait(start, "the second start in the history")
    browser.wait(row("workers", "worker") + ".cells[4].textContent === '2'", "two starts in the table")

    # An event may name any worker, even one that is named as what every object of JavaScript has.
    names = ["constructor", "__proto__", "the last one"]
    items = [{"history": {"worker": name, "text": f"of {name}", "time": None}} for name in names]
    news = json.dumps(json.dumps({"items": items}))
    tell = f'stream.dispatchEvent(new MessageEvent("news", {{ data: {news} }}))'
    shown = browser.value(f'{tell}, at("history").innerText')
    if not all(f"of {name}" in shown for name in names):
        raise Failure(f"the page does not show the histories of {names}; it shows: {shown}")

    publish(browser, "TextReceived", '{"text": "call <i>me</i> Ishmael"}')
    browser.wait(row("tail", "TextListed"), "an event that two workers have passed on")
    publish(browser, "WorkRequested", '{"number": 7, "text": "<b id=bold>markup</b>"}')
    browser.wait(row("tail", "WorkDone"), "the answer to a published event")
    if browser.value('document.querySelector("#bold, i") !== null'):
        raise Failure("a text of an event was read as markup")
    publish(browser, "WorkRequested", "{")
    browser.wait(shows("answer", "SyntaxError"), "that the data is no JSON")
    publish(browser, "WorkRequested", '{"number": 8, "text": "bad"}')
    browser.wait(row("letters", "WorkRequested") + "?.cells[1].textContent === '1'", "a dead letter")
    browser.click(button("letters", "WorkRequested", "Redeliver"))
    browser.wait('at("answer").textContent === "accepted"', "that it was redelivered")
    browser.wait(row("letters", "WorkRequested") + "?.cells[1].textContent === '2'", "that it was refused again")


def use_again(browser, supervisor):
    """Checks what the page does when its dashboard has gone and come back."""
    browser.click(button("letters", "WorkRequested", "Discard"))
    browser.wait('at("answer").textContent === "discarded"', "that it was discarded")
    browser.wait('at("letters").rows.length === 1', "no dead letter")
    browser.value('window.troubles = []; new MutationObserver(() => troubles.push(at("trouble").textContent))'
                  '.observe(at("trouble"), { childList: true }); undefined')  # fmt: skip
    supervisor.command("restart", "dashboard")
    browser.wait('window.troubles.some(text => text.includes("no link"))', "that the dashboard was away")
    browser.wait('at("trouble").textContent === "" && ' + row("workers", "dashboard") + ".cells[4].textContent === '2'",
                 "the next dashboard")  # fmt: skip
    browser.click(button("workers", "worker", "Restart"))
    browser.wait(row("workers", "worker") + ".cells[4].textContent === '3'", "that the page still has the token")
    if browser.complaints:
        raise Failure(f"the browser complains: {browser.complaints}")


def main():
    parser = argparse.ArgumentParser(description="Uses the dashboard's page in a headless Chromium.")
    parser.add_argument("build", type=pathlib.Path, help="the directory of supervisor and faulty-worker")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium", help="the browser")
    parser.add_argument("--picture", metavar="FILE", help="write a picture of the page here")
    chosen = parser.parse_args()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    token = secrets.token_urlsafe(24)
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        supervisor = stack.enter_context(
            contextlib.closing(Supervisor(chosen.build.resolve(), directory, port, token)))  # fmt: skip
        browser = stack.enter_context(contextlib.closing(Browser(chosen.chromium, directory / "profile")))
        supervisor.wait_until_ready(4)
        browser.open(f"http://127.0.0.1:{port}/")
        use(browser, supervisor, token)
        if chosen.picture:
            browser.picture(chosen.picture)
        use_again(browser, supervisor)
    print("the page does what it has to")


if __name__ == "__main__":
    try:
        main()
    except (Failure, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"browser: {error}")

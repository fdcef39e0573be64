#!/usr/bin/env python3
"""Runs the dashboard with a host that this program plays: `scripted.py`.

The program ends with 1 if the dashboard ends, or does not do what it has to.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True

from picture import FLOWS, MOST_NEWS, NEWS, REPORTS, Picture

WORKER = pathlib.Path(__file__).with_name("worker.py")
# Seconds for each dashboard; then it is killed, so nothing waits for it any longer.
PATIENCE = 60


class Failure(Exception):
    """What the dashboard has done wrong, as a sentence."""


class Dashboard:
    """A dashboard in this directory, and the host's end of its link."""

    def __init__(self, *arguments, token=None):
        self.host, inherited = socket.socketpair()
        environment = dict(os.environ, EVENT_BRIDGE_FD=str(inherited.fileno()), EVENT_BRIDGE_NAME="dashboard",
                           EVENT_BRIDGE_COOKIE="cookie")  # fmt: skip
        environment.pop("DASHBOARD_TOKEN", None)
        if token is not None:
            environment["DASHBOARD_TOKEN"] = token
        self.process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, pass_fds=[inherited.fileno()], stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        inherited.close()
        self.lines, self.sequence = self.host.makefile("rb"), 0
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()

    def says(self, word):
        """Whether the dashboard says this word of the bridge before it ends."""
        return any(json.loads(line).get("bridge") == word for line in self.lines)

    def wait_until_ready(self):
        if not self.says("ready"):
            raise Failure(f"the dashboard has ended before it was ready: {self.process.stderr.read()}")

    def send(self, *messages):
        try:
            self.host.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        except OSError:
            raise Failure(f"the dashboard has ended: {self.process.stderr.read()}") from None

    def event(self, name, source, data):
        self.sequence += 1
        return {
            "specversion": "1.0", "id": f"{source}-1-{self.sequence}", "source": source, "type": name,
            "time": "2026-03-21T20:04:00Z", "sequence": self.sequence, "attempt": 1, "data": data,
        }  # fmt: skip

    def page(self, path):
        """A file with the lines of the answer, which end when the dashboard closes the connection."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            stream.connect("page")
            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            return stream.makefile("r")

    def wait_for(self, text, lines):
        if not any(text in line for line in lines):
            raise Failure(f"the dashboard has ended: {self.process.stderr.read()}")

    def drain(self):
        self.send({"bridge": "drain", "milliseconds": 1000})
        if not self.says("goodbye") or self.process.wait() != 0:
            raise Failure(f"the dashboard has not drained: {self.process.stderr.read()}")

    def close(self):
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.lines.close()
        self.host.close()


def forged_reports():
    """Workers publish events with the names of reports, and anything as their data."""
    count = collections.Counter()
    with contextlib.closing(Dashboard(WORKER, "--socket", "page", "--most", "1000000")) as dashboard:
        dashboard.wait_until_ready()
        stream = dashboard.page("/events")
        # A worker reports what it has refused, as the host does.
        dashboard.send(dashboard.event("EventRefused", "worker", {"worker": "refuser", "event": "A", "reason": "no"}))
        dashboard.wait_for('"worker": "refuser", "text": "refused A (?): no"', stream)
        for source in ("forger", "host"):
            for name in REPORTS:
                for data in ([1], "text", 7, None, {}, {"worker": []}, {"worker": {"a": 1}}, {"worker": None}):
                    dashboard.send(dashboard.event(name, source, data))
                    count[source, name] += 1
        for number in range(2 * FLOWS):
            for source in ("forger", "host"):
                data = {"worker": f"{source}-{number}"}
                dashboard.send(dashboard.event("EventDeadLettered", source, data))
                count[source, "EventDeadLettered"] += 1
        dashboard.send(dashboard.event("Last", "worker", {}))
        dashboard.wait_for('["worker", "Last", 1,', stream)
        metrics = dashboard.page("/metrics").read()
        letters = re.findall(r'^event_bridge_dashboard_dead_letters_total\{worker="(.*)"\}', metrics, re.MULTILINE)
        if not 1 < len(letters) <= FLOWS or any(worker.startswith("forger") for worker in letters):
            raise Failure(f"dead letters are counted for {len(letters)} workers: {letters}")
        for name in REPORTS:
            passed = f'event_bridge_dashboard_events_total{{type="{name}",source="forger"}} {count["forger", name]}\n'
            if (passed in metrics) != (name != "EventRefused"):
                raise Failure(f"{name} of a worker does not count as it has to: {metrics}")
            if f'type="{name}",source="host"' in metrics:
                raise Failure(f"{name} of the host is no report: {metrics}")
        dashboard.drain()


def flood_of_reports():
    """A worker reports many thousands of refusals before the page gets its next news."""
    picture, count = Picture("dashboard"), 10_000

    def told(kind, number, data):
        event = {"id": f"worker-1-{number}", "source": "worker", "type": kind, "time": "2026-03-21T20:04:00Z"}
        picture.told(dict(event, data=data), 100)
        if len(picture.news) > MOST_NEWS:
            raise Failure(f"{len(picture.news)} events and reports wait for the page; {MOST_NEWS} are the most")

    for number in range(2 * NEWS):
        told("Counted", number, {})
    for number in range(count):
        told("EventRefused", number, {"worker": "worker", "event": "A", "reason": str(number)})
    news, unshown = picture.take_news(), picture.now().get("unshownReports")
    texts = [item["history"]["text"] for item in news["items"] if "history" in item]
    if texts != [f"refused A (?): {number}" for number in range(count - MOST_NEWS, count)]:
        raise Failure(f"the page does not get the newest reports: {texts}")
    if unshown != count - MOST_NEWS or news["leftOut"] != 2 * NEWS:
        raise Failure(f"the page learns of {unshown} reports and {news['leftOut']} events that are left out")
    if picture.take_news() is not None:
        raise Failure("the page gets the same reports twice")


def directory_in_place_of_socket():
    """The path of the socket is a directory at first."""
    os.mkdir("page")
    with contextlib.closing(Dashboard(WORKER, "--socket", "page")) as dashboard:
        dashboard.wait_for("page cannot be served yet: ", dashboard.process.stderr)
        dashboard.wait_until_ready()
        os.rmdir("page")
        dashboard.wait_for("the page is at page", dashboard.process.stderr)
        if os.listdir() != ["page"]:
            raise Failure(f"the dashboard has left more than its socket: {os.listdir()}")
        dashboard.drain()
    if os.listdir():
        raise Failure(f"the dashboard has left {os.listdir()}")


def wrong_port():
    """A port is no number, or not one of the numbers that ports have."""
    for port in ("65536", "70000", "-1", "http"):
        with contextlib.closing(Dashboard(WORKER, "--port", port)) as dashboard:
            if dashboard.says("hello"):
                raise Failure(f"the dashboard says hello with the port {port}")
            last = dashboard.process.stderr.read().splitlines()[-1:]
            if dashboard.process.wait() != 2 or last != [
                f"worker.py: error: argument --port: found {port}, expected a port from 0 to 65535"
            ]:
                raise Failure(f"with the port {port} the dashboard has ended with {dashboard.process.wait()}: {last}")


def wrong_token():
    """A token is too short, or has characters that a header does not carry as they are."""
    for token, why in (
        ("short", "5 characters; it needs 16"),
        ("a token with an umlaut: ü", "a character that is not a printable one of ASCII"),
        ("a token with\na line's end", "a character that is not a printable one of ASCII"),
        ("a token with a space at its end ", "a space at its end, which a header does not carry"),
    ):
        with contextlib.closing(Dashboard(WORKER, "--socket", "page", token=token)) as dashboard:
            if dashboard.says("hello"):
                raise Failure(f"the dashboard says hello with the token {token!r}")
            said, status = dashboard.process.stderr.read(), dashboard.process.wait()
            if status != 1 or said != f"DASHBOARD_TOKEN has {why}\n":
                raise Failure(f"with the token {token!r} the dashboard has ended with {status}: {said}")


def unforeseen_error():
    """The attempts to listen end with an error that is none of a taken address: the first of them, or a later one."""
    program = f"""if True:
        import asyncio, sys
        sys.path.insert(0, {str(WORKER.parent)!r})
        import worker
        taken = int(sys.argv.pop(1))
        async def opened(self, address):
            global taken
            taken -= 1
            raise OSError("taken") if taken >= 0 else RuntimeError("unforeseen")
        worker.Server.open = opened
        asyncio.run(worker.main())"""
    for taken in (0, 4):
        with contextlib.closing(Dashboard("-B", "-c", program, str(taken))) as dashboard:
            if dashboard.says("ready") and taken == 0:
                raise Failure("the dashboard is ready without a page")
            dashboard.wait_for("RuntimeError: unforeseen", dashboard.process.stderr)
            if dashboard.process.wait() != 1:
                raise Failure(f"the dashboard has ended with {dashboard.process.wait()}")


def main():
    for check in (
        forged_reports, flood_of_reports, directory_in_place_of_socket, wrong_port, wrong_token, unforeseen_error,
    ):
        with tempfile.TemporaryDirectory() as directory:
            os.chdir(directory)
            check()
            os.chdir("/")
        print(f"seen: {check.__doc__}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"scripted: {failure}")

#!/usr/bin/env python3
"""Measures what a dashboard costs a busy supervisor: `load.py BUILD`.

BUILD is the directory with `supervisor` and `faulty-worker`. One supervisor has 200 workers, of which one publishes
50,000 events a second to another. The program stops and starts a dashboard, whose page has one reader. After each stop
or start, in a window of fixed length, it measures how much processor time, user and system, the supervisor's own
process takes for an event. A window without and a window with a dashboard make a pair. Every other pair has them in the
other order, so slow changes of the machine meet both. The program prints the pairs, and the median and the middle half
of their differences.

A pair takes about 80 seconds. On a busy machine the middle half is wide, and the median says nothing.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import cbor
from desk import ACKNOWLEDGE, EVENT, GOODBYE, HELLO, INTEREST, READY, Link

FILE = pathlib.Path(__file__).resolve()
# Requests a second; the answers to each of them are as many events as the rate needs.
REQUESTS = 100
WINDOW_BYTES, WINDOW_EVENTS, LARGEST_FRAME = 1 << 20, 4096, 16 << 20
DRAIN, SHUTDOWN = 14, 1
PATIENCE = 120
CALM = {"handshake": "2m", "heartbeat": {"every": "1m"}}


# Seconds before a window begins. A dashboard that has found a flood looks again after 1, 2, 4 and 8 seconds, then every
# 16 seconds. A measured dashboard has come to the last of these pauses, so each window has equally many looks.
SETTLING = {"without": 3, "with": 34}


def configuration(build, count, port):
    worker = str(build / "faulty-worker")
    workers = [
        {"name": "source", "executable": worker, "arguments": ["--misbehave", "flood"],
         "subscribes": ["WorkRequested"], "publishes": ["WorkDone"], **CALM},
        {"name": "sink", "executable": str(FILE), "arguments": ["--sink"], **CALM},
        *({"name": f"idle-{number}", "executable": worker, "arguments": ["--misbehave", "none"],
           "subscribes": [f"Rare{number}"], **CALM} for number in range(count - 2)),
    ]  # fmt: skip
    workers.append(
        {"name": "dashboard", "executable": str(FILE.with_name("worker.py")), "control": True, **CALM,
         "arguments": ["--port", str(port), "--control", "run/supervisor.sock"],
         "limits": {"overflow": {"*": "drop-oldest"}}})  # fmt: skip
    return {"control": "run/supervisor.sock", "workers": workers}


class Sink:
    """A worker that takes events of one name and acknowledges them by the batch, without a look at what they say."""

    def __init__(self):
        self.stream = socket.socket(fileno=int(os.environ["EVENT_BRIDGE_FD"]))
        self.rest = b""

    def write(self, frame):
        body = cbor.encoded(frame)
        self.stream.sendall(len(body).to_bytes(4, "big") + body)

    def run(self):
        windows = [WINDOW_BYTES, WINDOW_EVENTS, LARGEST_FRAME]
        self.write([HELLO, "event-bridge", 1, 1, os.environ["EVENT_BRIDGE_NAME"], os.environ["EVENT_BRIDGE_COOKIE"],
                    "sink 1.0", *windows])  # fmt: skip
        incarnation, handled = None, 0
        while data := self.stream.recv(1 << 18):
            self.rest += data
            last = None
            for body in self.frames():
                # A frame is an array, and its kind the first item.
                if body[1] == EVENT:
                    last = body
                elif body[1] == DRAIN:
                    return self.write([GOODBYE, SHUTDOWN, "drained", 0, handled])
                elif incarnation is None:
                    incarnation = cbor.decoded(body)[4]
                    self.write([INTEREST, [[1, "WorkDone"]], []])
                    self.write([READY])
            if last is not None:
                handled = cbor.decoded(last)[1]
                self.write([ACKNOWLEDGE, incarnation, handled, 0, []])
        return None

    def frames(self):
        place = 0
        while len(self.rest) - place >= 4:
            end = place + 4 + int.from_bytes(self.rest[place : place + 4], "big")
            if end > len(self.rest):
                break
            yield self.rest[place + 4 : end]
            place = end
        self.rest = self.rest[place:]


class Run:
    """A supervisor with its workers, and the link over which the events are asked for."""

    def __init__(self, build, directory, count, port):
        (directory / "bridge.json5").write_text(json.dumps(configuration(build, count, port)))
        self.supervisor, self.directory, self.port = build / "supervisor", directory, port
        self.process = subprocess.Popen(
            [self.supervisor, "run", "bridge.json5"], cwd=directory, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        left = count + 1
        for line in self.process.stderr:
            left -= "is ready" in line
            if left == 0:
                # What comes from now on would fill the pipe.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        sys.exit("load: the supervisor has ended before its workers were ready")

    async def begin(self, rate):
        self.link = await Link.attached(str(self.directory / "run/supervisor.sock"))
        self.tasks = [asyncio.ensure_future(self.link.read()), asyncio.ensure_future(self.drive(rate))]

    async def drive(self, rate):
        """Asks the source for its events, at an even pace."""
        begin, turn = time.monotonic(), 0
        while True:
            self.link.publish("WorkRequested", {"number": rate // REQUESTS, "text": "x" * 40})
            turn += 1
            await asyncio.sleep(max(0, begin + turn / REQUESTS - time.monotonic()))

    async def turn(self, kind):
        """Stops or starts the dashboard; returns when that is done, and its page is open."""
        command = await asyncio.create_subprocess_exec(
            self.supervisor, {"with": "start", "without": "stop"}[kind], "dashboard", cwd=self.directory,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if await command.wait() != 0:
            sys.exit(f"load: the dashboard was not turned: {kind}")
        if kind == "with":
            threading.Thread(target=self.read_page, daemon=True).start()

    def read_page(self):
        """Reads what the dashboard sends to an open page, until the dashboard ends."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as stream:
            stream.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
            while stream.recv(1 << 18):
                pass

    async def window(self, kind, seconds):
        """Microseconds of processor time for an event, and how many events a second passed."""
        await self.turn(kind)
        await asyncio.sleep(SETTLING[kind])
        before = await self.sample()
        await asyncio.sleep(seconds)
        after = await self.sample()
        elapsed, processor, events = (late - early for early, late in zip(before, after))
        return processor / events * 1e6, events / elapsed

    async def sample(self):
        report = (await self.link.ask("BridgeStatusRequested", {}, PATIENCE))["report"]
        events = next(worker["received"]["offered"] for worker in report["workers"] if worker["name"] == "source")
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return time.monotonic(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), events

    def end(self):
        for task in self.tasks:
            task.cancel()
        self.link.close()

    def close(self):
        self.process.terminate()
        self.process.wait()


async def pairs(run, chosen):
    """Measures the pairs, and returns by how many percent each pair differs."""
    await run.begin(chosen.rate)
    found = []
    for number in range(chosen.pairs):
        costs = {}
        for kind in ("without", "with") if number % 2 == 0 else ("with", "without"):
            costs[kind], rate = await run.window(kind, chosen.seconds)
            print(f"pair {number + 1}, {kind} a dashboard: {costs[kind]:.3f} us an event, {rate:.0f} events a second",
                  flush=True)  # fmt: skip
        found.append(100 * (costs["with"] / costs["without"] - 1))
    run.end()
    return found


def main():
    parser = argparse.ArgumentParser(description="Measures what a dashboard costs a busy supervisor.")
    parser.add_argument("build", nargs="?", type=pathlib.Path, help="the directory of supervisor and faulty-worker")
    parser.add_argument("--sink", action="store_true", help="be the worker that takes the events")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--rate", type=int, default=50_000, help="events a second")
    parser.add_argument("--seconds", type=int, default=16, help="the length of a window")
    parser.add_argument("--pairs", type=int, default=8)
    chosen = parser.parse_args()
    if chosen.sink:
        return Sink().run()
    if chosen.build is None:
        parser.error("where are the programs?")
    if chosen.pairs < 2:
        parser.error("two pairs at least: one in each order")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        with contextlib.closing(Run(chosen.build.resolve(), pathlib.Path(name), chosen.workers, port)) as run:
            found = asyncio.run(pairs(run, chosen))
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    print(f"a dashboard: {middle:+.1f} %, the middle half of {len(found)} pairs from {low:+.1f} to {high:+.1f} %")
    return None


if __name__ == "__main__":
    main()

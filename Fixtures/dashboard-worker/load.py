#!/usr/bin/env python3
"""What a dashboard costs a busy supervisor: `load.py BUILD`, the directory with `supervisor` and `faulty-worker`.

Runs 200 workers of which one publishes 50,000 events a second to another, with and without a dashboard whose page one
reader has open, by turns. Prints the processor time that the supervisor took for each second and for each million
events, and the ratio. It is the time of that one process which counts; a busy machine still makes the batches differ.
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
# Requests a second, each of which is answered with as many events as make up the rate.
REQUESTS = 100
WINDOW_BYTES, WINDOW_EVENTS, LARGEST_FRAME = 1 << 20, 4096, 16 << 20
DRAIN, SHUTDOWN = 14, 1
PATIENCE = 120
CALM = {"handshake": "2m", "heartbeat": {"every": "1m"}}


def configuration(build, count, port):
    worker = str(build / "faulty-worker")
    workers = [
        {"name": "source", "executable": worker, "arguments": ["--misbehave", "flood"],
         "subscribes": ["WorkRequested"], "publishes": ["WorkDone"], **CALM},
        {"name": "sink", "executable": str(FILE), "arguments": ["--sink"], **CALM},
        *({"name": f"idle-{number}", "executable": worker, "arguments": ["--misbehave", "none"],
           "subscribes": [f"Rare{number}"], **CALM} for number in range(count - 2)),
    ]  # fmt: skip
    if port is not None:
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
    """A supervisor with its workers, for one measurement."""

    def __init__(self, build, directory, count, port):
        (directory / "bridge.json5").write_text(json.dumps(configuration(build, count, port)))
        self.directory, self.port = directory, port
        self.count = count + (port is not None)
        self.process = subprocess.Popen(
            [build / "supervisor", "run", "bridge.json5"], cwd=directory, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def wait_until_ready(self):
        left = self.count
        for line in self.process.stderr:
            left -= "is ready" in line
            if left == 0:
                # What comes from now on would fill the pipe.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        sys.exit("load: the supervisor has ended before its workers were ready")

    def open_page(self):
        """Reads what an open page is told, for as long as the dashboard tells it."""
        stream = socket.create_connection(("127.0.0.1", self.port))
        stream.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())

        def read():
            with contextlib.suppress(OSError):
                while stream.recv(1 << 18):
                    pass

        threading.Thread(target=read, daemon=True).start()

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def measured(self, rate, seconds):
        """Processor seconds for each second, and the events of a second."""
        link = await Link.attached(str(self.directory / "run/supervisor.sock"))
        reading = asyncio.ensure_future(link.read())
        driving = asyncio.ensure_future(self.drive(link, rate))
        # The first seconds are those of growing memory.
        await asyncio.sleep(5)
        before = await self.sample(link)
        await asyncio.sleep(seconds)
        after = await self.sample(link)
        driving.cancel()
        reading.cancel()
        link.close()
        elapsed, processor, events = (late - early for early, late in zip(before, after))
        return processor / elapsed, events / elapsed

    async def sample(self, link):
        report = (await link.ask("BridgeStatusRequested", {}, PATIENCE))["report"]
        events = next(worker["received"]["offered"] for worker in report["workers"] if worker["name"] == "source")
        return time.monotonic(), self.processor_seconds(), events

    async def drive(self, link, rate):
        """Asks the source for its events, at an even pace."""
        begin, turn = time.monotonic(), 0
        while True:
            link.publish("WorkRequested", {"number": rate // REQUESTS, "text": "x" * 40})
            turn += 1
            await asyncio.sleep(max(0, begin + turn / REQUESTS - time.monotonic()))

    def close(self):
        self.process.terminate()
        self.process.wait()


def measured(build, chosen, port):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        with contextlib.closing(Run(build, pathlib.Path(name), chosen.workers, port)) as run:
            run.wait_until_ready()
            if port is not None:
                run.open_page()
            return asyncio.run(run.measured(chosen.rate, chosen.seconds))


def main():
    parser = argparse.ArgumentParser(description="Measures what a dashboard costs a busy supervisor.")
    parser.add_argument("build", nargs="?", type=pathlib.Path, help="the directory of supervisor and faulty-worker")
    parser.add_argument("--sink", action="store_true", help="be the worker that takes the events")
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--rate", type=int, default=50_000, help="events a second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    if chosen.sink:
        return Sink().run()
    if chosen.build is None:
        parser.error("where are the programs?")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    costs = {"without": [], "with": []}
    for number in range(1, chosen.rounds + 1):
        for kind, place in (("without", None), ("with", port)):
            processor, events = measured(chosen.build.resolve(), chosen, place)
            million = processor / events * 1e6
            costs[kind].append((processor, million))
            print(f"round {number}, {kind} a dashboard: {processor:.3f} processor seconds a second, "
                  f"{events:.0f} events a second, {million:.3f} s a million", flush=True)  # fmt: skip
    medians = {kind: [statistics.median(values) for values in zip(*found)] for kind, found in costs.items()}
    for place, what in enumerate(("a second", "a million events")):
        bare, watched = medians["without"][place], medians["with"][place]
        print(f"median for {what}: {bare:.3f} s without, {watched:.3f} s with: {100 * (watched / bare - 1):+.1f} %")
    return None


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Attacks a running supervisor through its workers and its control socket, and watches how the supervisor bears that.

Usage: fuzz.py [--seconds N] [--seed N] [--session SIDE:SEED] PRODUCTS
PRODUCTS is the directory of `supervisor` and `faulty-worker`, such as .build/release. The attackers are two workers, which the
supervisor starts again and again, and clients at its control socket. They first send the sessions in corpus/, then sessions that seeds
make. Meanwhile an honest client asks an honest worker and the host one question after the other, and in turn the worker and the host of
a second supervisor, which has no attackers. Both supervisors share the machine with the attackers, so a difference between their answers
is what the attack does to a supervisor.

A finding is an end of the supervisor, a question that is not answered within ten seconds, or growth of memory, descriptors or threads.
Then the exit status is 1. The fuzzer prints the last sessions; `--session worker:SEED` or `--session client:SEED` repeats one.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from sessions import CORPUS, next_session  # noqa: E402
from wire import ACKNOWLEDGE, EVENT, GAP, HEARTBEAT, INTEREST, READY, Link, frame  # noqa: E402

HERE = pathlib.Path(__file__).resolve()
WORKERS = 2
# The supervisor that is attacked and the one that is left in peace, by the directories of their control sockets.
ATTACKED, QUIET = "run", "quiet"
# Into how many parts of equal length the report divides the time.
PARTS = 10
# In seconds: how long an honest client waits for an answer, and how long the fuzzer waits for a start or an end.
PATIENCE, LONG_PATIENCE = 10, 60
# How many seconds one look counts at most: during a longer look this process was suspended.
LOOK = 0.25
# In bytes. A supervisor with four workers has 12 MiB; docs/reference/security.md says how much clients and workers can add for good.
MOST_MEMORY = 256 << 20
# How many more descriptors a supervisor at rest may have than before: sockets that were closed a moment ago.
SPARE = 8


class Patience:
    """Time that is counted in looks. If the machine stands still, this counts as one look, however long it lasts, because the supervisor
    stood still, too."""

    def __init__(self, seconds):
        self.left, self.last = seconds, time.monotonic()

    def look(self):
        """Whether time is left."""
        now = time.monotonic()
        self.left -= min(now - self.last, LOOK)
        self.last = now
        return self.left > 0


# --- The parts, each in a process of its own


def be_clients(directory):
    while not (directory / "stop").exists():
        try:
            link = Link.attached(str(directory / "run" / "control"), f"client {os.getpid()}")
        except OSError:
            time.sleep(0.05)
            continue
        with link.stream:
            next_session(str(directory), "client").run(link)


class Honest:
    """A client that asks a worker or the host, and waits for the answer."""

    def __init__(self, directory, host):
        self.host = host
        self.link = Link.attached(str(directory / host / "control"), "honest")
        self.link.send(frame(self.link.hello()))
        if self.read(Patience(PATIENCE)) is None:
            self.give_up("welcome")
        wanted = ["WorkDone", "BridgeStatusReported", "EventsTraced", "EventDeadLettered"]
        self.link.send(frame([INTEREST, [[number, name] for number, name in enumerate(wanted, 1)], []]) + frame([READY]))
        self.read(Patience(PATIENCE))

    def read(self, patience):
        """The next frame; None if the time is up or the link has ended."""
        while patience.look():
            message = self.link.read(LOOK)
            if message is not None or not self.link.is_open:
                return message
        return None

    def give_up(self, what):
        why = f"within {PATIENCE} s" if self.link.is_open else "before the link has ended"
        print(f"no {what} of {self.host} {why}", flush=True)
        sys.exit(1)

    def ask(self, number, asks_host):
        """Asks, and returns how many seconds the answer took; ends the process if none comes."""
        link = self.link
        name, payload = ("BridgeStatusRequested", {}) if asks_host else ("WorkRequested", {"number": number, "text": ""})
        began, patience = time.monotonic(), Patience(PATIENCE)
        link.sent += 1
        link.send(frame([EVENT, link.sent, None, time.time_ns(), name, None, payload]))
        while True:
            message = self.read(patience)
            if message is None:
                self.give_up(f"answer to {name} {number}")
            if message[0] not in (EVENT, GAP):
                continue
            link.send(frame([ACKNOWLEDGE, link.incarnation, link.received, 0, []]))
            if message[0] == EVENT and len(message) == 7 and message[4] == (2 if asks_host else 1):
                answer = message[6] if isinstance(message[6], dict) else {}
                if asks_host or answer.get("number") == number:
                    return time.monotonic() - began


def be_honest(directory):
    """Asks the worker and the host of both supervisors in turn, and writes down how long each answer took."""
    both = [Honest(directory, ATTACKED), Honest(directory, QUIET)]
    began = beat = time.monotonic()
    with open(directory / "answers", "w", encoding="utf-8") as answers:
        for number in itertools.count(1):
            if (directory / "stop").exists():
                return
            asks_host = number % 8 == 0
            for honest in both:
                took = honest.ask(number, asks_host)
                answers.write(f"{'host' if asks_host else 'worker'} {honest.host} {time.monotonic() - began:.0f} {took:.6f}\n")
                time.sleep(max(0, 0.01 - took))
            answers.flush()
            if time.monotonic() > beat + 1:
                for honest in both:
                    honest.link.send(frame([HEARTBEAT]))
                beat = time.monotonic()


# --- The run


def configuration(host, directory, products):
    attacker = [sys.executable, "-I", "-S", str(HERE.parent / "worker.py"), str(directory)]
    hostile = [
        {
            "name": f"hostile-{number}",
            "executable": attacker[0],
            "arguments": attacker[1:],
            "backoff": {"initial": "1ms", "maximum": "1ms"},
            "handshake": "2s",
            "limits": {"strikes": 1_000},
        }
        for number in range(WORKERS if host == ATTACKED else 0)
    ]
    honest = {
        "name": "honest",
        "executable": str(products / "faulty-worker"),
        "arguments": ["--misbehave", "none"],
        "subscribes": ["WorkRequested"],
        "publishes": ["WorkDone"],
    }
    # Hostile workers are started again after each end, whichever events they ended over. Their events that the honest
    # worker refuses must not hold up the requests to the honest worker.
    return {
        "workers": [honest, *hostile],
        "intensity": {"restarts": 10_000, "within": "1s"},
        "deadLetters": {"whenFull": "evict-oldest"},
    }


class Supervisor:
    def __init__(self, host, directory, products):
        self.control = directory / host / "control"
        self.control.parent.mkdir(mode=0o700)
        path = directory / f"{host}.json"
        path.write_text(json.dumps(configuration(host, directory, products)))
        self.output = directory / f"{host}.txt"
        with open(self.output, "wb") as output:
            command = [products / "supervisor", "run", path, "--control", self.control]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output)

    @property
    def lives(self):
        return self.process.poll() is None

    @property
    def listens(self):
        """Whether a client can connect; the socket's file exists a moment earlier."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
            return stream.connect_ex(str(self.control)) == 0

    @property
    def end(self):
        """How the supervisor has ended, in words."""
        text = f"the supervisor has ended with status {self.process.returncode}"
        was_asked = "stopping: the workers finish" in self.output.read_text(errors="replace")
        return text + (", as it was asked to: a signal, or a session that may not" if was_asked else "")

    def possessions(self):
        """Memory in bytes, descriptors, threads."""
        proc = pathlib.Path(f"/proc/{self.process.pid}")
        try:
            pages = int((proc / "statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(proc / "fd")), len(os.listdir(proc / "task"))
        except OSError:
            return 0, 0, 0

    def stop(self):
        if self.lives:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()


def part(name, directory, products):
    return subprocess.Popen([sys.executable, HERE, "--be", name, directory, products], stdout=subprocess.PIPE, text=True)


def wait_until(what, condition):
    patience = Patience(LONG_PATIENCE)
    while not condition():
        if not patience.look():
            return f"{what} did not come within {LONG_PATIENCE} s"
        time.sleep(0.02)
    return None


def state(process):
    """What the threads of a process do, as far as the system says."""
    found = []
    for thread in pathlib.Path(f"/proc/{process.pid}/task").glob("*"):
        try:
            name, _, rest = (thread / "stat").read_text().partition("(")[2].rpartition(")")
            found.append(f"{name} {rest.split()[0]} {(thread / 'wchan').read_text()}")
        except OSError:
            continue
    return ", ".join(found) or "none"


def fuzz(directory, products, seconds):
    """Runs the attack, and returns what was found, in words; None if nothing was."""
    supervisors = [Supervisor(host, directory, products) for host in (ATTACKED, QUIET)]
    supervisor = supervisors[0]
    parts = []
    try:
        for one in supervisors:
            found = wait_until("the control socket", lambda: one.listens or not one.lives)
            if found or not one.lives:
                return found or "a supervisor has ended at its start"
        honest = part("honest", directory, products)
        parts = [honest, part("clients", directory, products)]
        began, before, memories = time.monotonic(), None, []
        # A machine that stands still must not let the time pass before anything was measured.
        while time.monotonic() < began + seconds or before is None:
            time.sleep(0.1)
            if not supervisor.lives:
                return supervisor.end
            if honest.poll() is not None:
                return honest.communicate()[0].strip() or "the honest client has ended"
            if parts[1].poll() is not None:
                return "the hostile clients have ended, which is a fault of theirs"
            memory, descriptors, threads = supervisor.possessions()
            memories.append(memory)
            # When the whole corpus has been sent, the supervisor has everything that it makes only once.
            if before is None and time.monotonic() > began + min(10, seconds / 4):
                before = (memory, descriptors, threads)
            if memory > MOST_MEMORY:
                return f"the supervisor has {memory >> 20} MiB of memory"
        (directory / "stop").touch()
        for name, process in zip(("honest client", "hostile clients"), parts):
            found = wait_until(f"the end of the {name}", lambda: process.poll() is not None)
            if found:
                return f"{found}; its threads: {state(process)}; the supervisor's: {state(supervisor.process)}"
        if honest.returncode != 0:
            return honest.communicate()[0].strip() or f"the honest client has ended with status {honest.returncode}"
        report(directory, seconds, before, supervisor.possessions(), memories)
        if not supervisor.lives:
            return supervisor.end
        return wait_until(
            f"descriptors and threads as before ({before[1]} and {before[2]}, now {supervisor.possessions()[1:]})",
            lambda: all(now <= then + SPARE for now, then in zip(supervisor.possessions()[1:], before[1:])),
        )
    finally:
        for process in parts:
            process.kill()
        for one in supervisors:
            one.stop()


def quantile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000 if times else float("nan")


def report(directory, seconds, before, after, memories):
    counts = {side: (directory / side).stat().st_size if (directory / side).exists() else 0 for side in ("worker", "client")}
    print(f"process fuzzer: {counts['worker']} sessions of workers, {counts['client']} of clients, {len(CORPUS)} of the corpus first")
    answers = [line.split() for line in (directory / "answers").read_text().splitlines()]
    times = {key: [] for key in itertools.product(("worker", "host"), (QUIET, ATTACKED), range(PARTS))}
    for who, host, second, took in answers:
        times[who, host, min(PARTS - 1, int(int(second) * PARTS / seconds))].append(float(took))
    for who, host in itertools.product(("worker", "host"), (QUIET, ATTACKED)):
        all_times = list(itertools.chain.from_iterable(times[who, host, part] for part in range(PARTS)))
        middle, late, longest = (quantile(all_times, share) for share in (0.5, 0.99, 1))
        name = "attacked" if host == ATTACKED else "left in peace"
        print(f"  {len(all_times)} honest answers of a {who} {name}: median {middle:.2f} ms, p99 {late:.2f} ms, longest {longest:.2f} ms")
    for who in ("worker", "host"):
        ratios = [quantile(times[who, ATTACKED, part], 0.99) / quantile(times[who, QUIET, part], 0.99) for part in range(PARTS)]
        print(f"  p99 of a {who} attacked, to one in peace, in each tenth of the time: {' '.join(f'{ratio:.2f}' for ratio in ratios)}")
    course = [max(memories[len(memories) * part // PARTS :][: len(memories) // PARTS + 1]) >> 20 for part in range(PARTS)]
    print(f"  memory {before[0] >> 20} MiB, then {after[0] >> 20}; at most in each tenth: {' '.join(map(str, course))}")
    print(f"  descriptors {before[1]}, then {after[1]}; threads {before[2]}, then {after[2]}")


def last_sessions(directory):
    for side in ("worker", "client"):
        log = directory / f"{side}.log"
        for line in log.read_text().splitlines()[-10:] if log.exists() else []:
            print(f"  --session {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(48))
    parser.add_argument("--session", help="only this one, again and again: worker:SEED or client:SEED")
    parser.add_argument("--be", choices=["clients", "honest"], help=argparse.SUPPRESS)
    parser.add_argument("directory", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("products", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.be:
        parts = {"clients": be_clients, "honest": be_honest}
        return parts[arguments.be](pathlib.Path(arguments.directory))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-"))
    (directory / "seed").write_text(str(arguments.seed))
    if arguments.session:
        side, seed = arguments.session.split(":", 1)
        (directory / f"only-{side}").write_text(seed)
    print(f"process fuzzer: seed {arguments.seed}", flush=True)
    found = fuzz(directory, arguments.products.resolve(), arguments.seconds)
    if found is None:
        shutil.rmtree(directory)
        return 0
    print(f"found: {found}")
    last_sessions(directory)
    print((directory / f"{ATTACKED}.txt").read_text(errors="replace")[-3000:])
    return 1


sys.exit(main())

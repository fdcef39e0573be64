"""What a hostile peer sends in one session: made from a seed, each time the same, or read from a file of the corpus."""

import json
import os
import random
import signal
import socket
import time

from wire import (
    ACKNOWLEDGE, DRAIN, EVENT, GAP, GOODBYE, HEARTBEAT, INTEREST, LARGEST, MORE_TIME, PLACED, READY, RECEIPT, REFUSE, REJECT,
    WELCOME, ENDINGS, Raw, Wide, elements, frame, framed, encoded,
)

EDGES = [
    0, 1, 2, 3, 4, 16, 23, 24, 63, 64, 65, 127, 128, 255, 256, 257, 4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536,
    2**20 - 1, 2**20, 2**20 + 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**40 + 1, 2**53, 2**62, 2**63 - 1, 2**63,
    2**63 + 1, LARGEST - 1, LARGEST,
]
# The commands that end, start or restart measured processes are left out.
NAMES = [
    "WorkRequested", "WorkDone", "Ev", "BoxSaved", "*", "", "A" * 256, "A" * 257, "Caf\u00e9", "Cafe\u0301", "K", "\u212a", "\0",
    "BridgeStatusRequested", "BridgeStatusReported", "CommandAnswered", "EventsTraced", "WorkerExited", "EventRefused",
    "EventsDropped", "EventsLost", "HandlerFailed", "ClientAttached", "\u202eEv", "DeadLettersRequested",
    "DeadLettersReported", "DeadLetterRequested", "DeadLetterRedeliveryRequested", "DeadLetterDiscardRequested",
    "DeadLetterSettled", "ConfigurationReloadRequested", "ConfigurationReloaded",
    "WorkerOutputRequested", "WorkerOutputReported", "EventNamesRequested", "EventNamesReported",
    "EventsReplayRequested", "EventsReplayed",
]
PAYLOADS = [
    {}, {"number": 1, "text": ""}, {"number": 1, "text": "", "attempt": 1}, {"letter": 1}, {"after": LARGEST},
    {"after": ""}, {"after": "\uffff" * 80}, {"worker": "worker", "after": 0}, {"worker": "worker", "after": LARGEST}, [], None, 0, 1.5, "text", b"bytes", float("nan"),
    Raw(b"\xa1\x61\x61"), Raw(b""), Raw(b"\xff"), Raw(b"\x9f\x01\xff"), Raw(b"\x81" * 70 + b"\x01"), Raw(b"\x9b" + b"\xff" * 8),
    Raw(b"\xa2\x01\x01\x01\x02"), Raw(b"\xa2\x01\x01\x61\x31\x02"), Raw(b"\x99\xff\xff" + b"\x80" * 65535),
    Raw(b"\x79\x80\x00" + b"\x01" * 32768),
]


class Session:
    def __init__(self, seed, is_worker):
        self.random = random.Random(seed)
        self.is_worker = is_worker

    def some(self, share):
        return self.random.random() < share

    def number(self, near=1):
        kind = self.random.random()
        if kind < 0.55:
            number = max(0, near + self.random.choice([0, 0, 0, 0, 1, -1, 2]))
        elif kind < 0.9:
            number = self.random.choice(EDGES)
        else:
            number = self.random.getrandbits(self.random.randint(1, 64))
        return Wide(number) if self.some(0.05) else number

    def name(self):
        return self.random.choice(NAMES) if self.some(0.7) else f"Made up {self.random.randint(1, 40)}"

    def identifier(self, link):
        kind = self.random.random()
        if kind < 0.4:
            return None
        if kind < 0.6:
            return self.number(link.sent + 1)
        if kind < 0.75:
            return -1 - self.number(link.received)
        origin = self.random.choice([link.name, "host", "honest", "client-1", "", "o" * 257])
        return [origin, self.random.choice([link.incarnation, link.host, self.number()]), self.number(link.sent + 1)]

    def ranges(self, near, most):
        count = self.random.choice([0, 0, 1, 1, 2, 3, most, most + 1])
        if self.some(0.5):
            return [near + 2 + index * 2 + index % 2 for index in range(2 * count)]
        return [self.number(near + index) for index in range(2 * count)]

    def options(self, link):
        if self.some(0.6):
            return None
        found = {}
        for key in range(1, 8):
            if self.some(0.3):
                values = {
                    1: lambda: self.number(1), 2: lambda: self.identifier(link), 3: lambda: self.identifier(link),
                    4: lambda: self.random.choice(["00-" + "a" * 32 + "-" + "b" * 16 + "-01", "none", ""]),
                    5: lambda: self.number(link.sent), 6: lambda: self.random.choice([0, 1, 1, 1, 2, LARGEST]),
                    7: lambda: self.number(),
                }
                found[key] = values[key]()
        return found

    def event_name(self, link):
        """A name, or the number of one; the number never stands for a command that ends or restarts measured processes."""
        if self.some(0.7):
            return self.name()
        number = self.number(1)
        if link.is_told_names:
            return 0 if number in link.endings else number
        return number if number >= 4096 else 0

    def message(self, link):
        """One message, most of it as it should be."""
        kinds = {
            EVENT: 10, ACKNOWLEDGE: 6, GAP: 5, REFUSE: 3, RECEIPT: 3, INTEREST: 3, PLACED: 2, HEARTBEAT: 2, MORE_TIME: 1, READY: 1,
            GOODBYE: 0.3, DRAIN: 0.3, WELCOME: 0.2, REJECT: 0.2, 0: 0.2, 200: 0.5, 100: 0.2,
        }
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        fields = {
            EVENT: lambda: [self.number(link.sent + 1), self.identifier(link), self.number(), self.event_name(link), self.options(link),
                            self.random.choice(PAYLOADS)],
            GAP: lambda: [self.number(link.sent + 1), self.event_name(link), self.number(), self.number(), self.gap_ranges(link)],
            PLACED: lambda: [self.number(link.sent + 1), self.number(4096 + 16), self.number(100)],
            ACKNOWLEDGE: lambda: [link.incarnation if self.some(0.9) else self.number(), self.number(link.received),
                                  self.number(0) if self.some(0.8) else self.number(link.sent),
                                  self.ranges(link.received, 64), *([self.number(1)] if self.some(0.3) else [])],
            REFUSE: lambda: [self.number(link.received), self.number(1), self.random.choice(["no", "", "x" * 5000])],
            RECEIPT: lambda: [self.identifier(link), self.random.choice([link.name, "host", "honest", ""]), self.number(0),
                              self.number(1), "text", self.random.choice([[], [], ["honest"], ["a"] * 300])],
            INTEREST: lambda: [[[self.number(index), self.name()] for index in range(self.random.choice([0, 1, 1, 2, 5]))],
                               [self.number(index) for index in range(self.random.choice([0, 0, 0, 1, 3]))]],
            HEARTBEAT: lambda: [],
            MORE_TIME: lambda: [self.number(1), "because"],
            GOODBYE: lambda: [self.number(1), "bye", self.number(link.sent), self.number(link.received)],
            DRAIN: lambda: [self.number(1)],
            REJECT: lambda: [self.number(1), "no"],
            WELCOME: lambda: [1, "library", self.number(), self.number(), self.number(), self.number(), self.number(), 1000],
            0: lambda: link.hello()[1:],
        }
        body = [kind, *fields.get(kind, lambda: [self.number() for _ in range(self.random.randint(0, 4))])()]
        if kind in (EVENT, GAP, PLACED) and body[1] == link.sent + 1:
            link.sent += 1
        if self.some(0.02):
            del body[self.random.randrange(len(body)) :]
        if self.some(0.02) and len(body) > 1:
            body[self.random.randrange(1, len(body))] = self.random.choice(["text", b"bytes", [], {}, None, True, 1.5, -1])
        return body

    def gap_ranges(self, link):
        found = []
        for _ in range(self.random.choice([0, 1, 1, 2, 64, 65])):
            found += [self.identifier(link) or 1, self.number(1)]
        return found

    def spoiled(self, data):
        """Damages frames, as a bad connection would."""
        data = bytearray(data)
        kind = self.random.randrange(4)
        if kind == 0 and data:
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
        elif kind == 1:
            del data[self.random.randrange(len(data) + 1) :]
        elif kind == 2:
            data = data + data
        else:
            data[0:4] = int(self.number(64)).to_bytes(8, "big")[4:]
        return bytes(data)

    @staticmethod
    def ends_others(link, data):
        """Whether a client's damaged frames name a command that ends the processes that others measure."""
        while len(data) > 4:
            length = int.from_bytes(data[:4], "big")
            body, data = data[4 : 4 + length], data[4 + length :]
            message = elements(body)
            name = message[4] if len(message) > 4 and message[0] == EVENT else None
            # A number that the host has not sent yet may stand for any of its own names.
            is_untold = isinstance(name, int) and not link.is_told_names and 0 < name < 4096
            if is_untold or isinstance(name, (int, str)) and name in link.endings | ENDINGS:
                return True
        return False

    def run(self, link):
        if self.some(0.95):
            features = self.random.choice([0, 0, 1, 2, 3, 3, LARGEST])
            if not link.send(frame(link.hello(features, self.number(1 << 20), self.number(4096)))):
                return
            link.read(1)
            if self.some(0.5):
                # This reads the names that the host wants, and their numbers.
                link.read(0.01)
            link.send(frame([INTEREST, [[1, "Ev"]] if self.some(0.5) else [[0, "*"]], []]) if self.some(0.9) else b"")
            link.send(frame([READY]) if self.some(0.9) else b"")
            if self.is_worker and self.some(0.15):
                self.scribble()
        for _ in range(self.random.choice([1, 2, 3, 5, 8, 13, 40, 100])):
            batch = [frame(self.message(link)) for _ in range(self.random.choice([1, 1, 2, 3]))]
            if self.some(0.05):
                batch.append(batch[0])
            if self.some(0.05):
                self.random.shuffle(batch)
            data = b"".join(batch)
            if self.some(0.03):
                spoiled = self.spoiled(data)
                data = data if self.ends_others(link, spoiled) else spoiled
            if self.some(0.01) and not self.is_worker:
                self.pass_descriptor(link)
            if not link.send(data):
                return
            if self.some(0.3):
                link.read_all(self.random.choice([0, 0.001, 0.01]))
        if self.is_worker:
            self.end_worker(link)

    @staticmethod
    def pass_descriptor(link):
        try:
            socket.send_fds(link.stream, [b"\0"], [0])
        except OSError:
            link.is_open = False

    def scribble(self):
        """Writes numbers into the memory that the worker shares with the host."""
        descriptor = int(os.environ.get("EVENT_BRIDGE_OUTBOX_FD", "-1"))
        for _ in range(self.random.choice([1, 3, 30])):
            place = 8 * self.random.randrange(512) if self.some(0.7) else 4096 + 8 * self.random.randrange(64)
            if self.some(0.5):
                place = self.random.choice([0, 8, 16, 24, 32, 64, 72, 4096, 4104])
            value = int.from_bytes(b"evoutbx1", "little") if place == 0 else int(self.number(4096))
            try:
                os.pwrite(descriptor, value.to_bytes(8, "little"), place)
            except OSError:
                return

    def end_worker(self, link):
        kind = self.random.randrange(5)
        if kind == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == 1:
            link.stream.shutdown(socket.SHUT_WR)
            time.sleep(0.05)
        elif kind == 2:
            link.send(frame([GOODBYE, self.number(1), "done", link.sent, link.received]))
        elif kind == 3:
            link.read_all(0.05)


class Recorded:
    """A file of the corpus: a list of messages, in JSON. `"own"` and `"host"` stand for incarnations, {"hex": "…", "then": "…", "times": N}
    for raw bytes, and {"wait": SECONDS} for reading meanwhile."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.recorded = json.load(file)
        self.is_worker = self.recorded["side"] == "worker"

    def run(self, link):
        link.send(frame(link.hello(self.recorded.get("features", 0))))
        link.read(1)
        for message in self.recorded["messages"]:
            if isinstance(message, dict):
                link.read_all(message["wait"])
            else:
                link.send(framed(encoded(self.filled(message, link))))
        link.read_all(0.05)

    def filled(self, item, link):
        if isinstance(item, list):
            return [self.filled(element, link) for element in item]
        if isinstance(item, dict):
            return Raw(bytes.fromhex(item["hex"]) + bytes.fromhex(item.get("then", "")) * item.get("times", 1))
        return {"own": link.incarnation, "host": link.host}.get(item, item) if isinstance(item, str) else item


# --- Which session is next

HERE = os.path.dirname(os.path.realpath(__file__))
CORPUS = sorted(os.path.join(HERE, "corpus", name) for name in os.listdir(os.path.join(HERE, "corpus")))


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def next_session(directory, side):
    """The session that `--session` names; without it, first those of the corpus, then those of seeds, counted over all processes."""
    only = os.path.join(directory, f"only-{side}")
    if os.path.exists(only):
        return Session(content(only), side == "worker")
    with open(os.path.join(directory, side), "ab") as file:
        file.write(b".")
        number = file.tell() - 1
    if number < len(CORPUS):
        known = [found for found in map(Recorded, CORPUS) if found.is_worker == (side == "worker")]
        if number < len(known):
            return known[number]
    seed = f"{content(os.path.join(directory, 'seed'))}-{number}"
    with open(os.path.join(directory, f"{side}.log"), "a", encoding="utf-8") as log:
        log.write(f"{side}:{seed}\n")
    return Session(seed, side == "worker")

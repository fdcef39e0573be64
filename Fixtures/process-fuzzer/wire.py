"""Frames of the wire protocol (docs/reference/wire-protocol.md), as far as a hostile peer needs them: any CBOR item, in any order."""

import os
import socket
import struct
import time

HELLO, WELCOME, REJECT, INTEREST, READY, MORE_TIME, EVENT, ACKNOWLEDGE, REFUSE, RECEIPT, GAP, HEARTBEAT, DRAIN, GOODBYE, PLACED = (
    0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16,
)
LARGEST = 2**64 - 1
# The commands that end, start or restart workers, signal them, or end the bridge.
ENDINGS = {
    "BridgeStopRequested", "WorkerStopRequested", "WorkerRestartRequested", "WorkerStartRequested", "WorkerSignalRequested",
}


class Raw(bytes):
    """Bytes that go into a frame unchanged."""


class Wide(int):
    """An integer in nine bytes, however small it is."""


def head(major, number, is_wide=False):
    number = max(0, min(number, LARGEST))
    if number < 24 and not is_wide:
        return bytes([major << 5 | number])
    for additional, form in ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if number >> 8 * struct.calcsize(form) == 0 and (not is_wide or additional == 27):
            return bytes([major << 5 | additional]) + struct.pack(form, number)
    raise ValueError(number)


def encoded(item):
    if isinstance(item, Raw):
        return bytes(item)
    if item is None:
        return b"\xf6"
    if isinstance(item, bool):
        return b"\xf5" if item else b"\xf4"
    if isinstance(item, int):
        is_wide = isinstance(item, Wide)
        return head(0, item, is_wide) if item >= 0 else head(1, -1 - item, is_wide)
    if isinstance(item, float):
        return b"\xfb" + struct.pack(">d", item)
    if isinstance(item, bytes):
        return head(2, len(item)) + item
    if isinstance(item, str):
        text = item.encode("utf-8", "surrogatepass")
        return head(3, len(text)) + text
    if isinstance(item, dict):
        return head(5, len(item)) + b"".join(encoded(key) + encoded(value) for key, value in item.items())
    return head(4, len(item)) + b"".join(encoded(element) for element in item)


def framed(body):
    return struct.pack(">I", len(body) & 0xFFFFFFFF) + body


def frame(item):
    return framed(encoded(item))


def decoded(body, offset=0):
    """The item at an offset, and the offset behind it. Nothing is checked, because the bytes come from a host."""
    first = body[offset]
    major, additional = first >> 5, first & 31
    offset += 1
    number = additional
    if additional >= 24:
        size = 1 << (additional - 24)
        number = int.from_bytes(body[offset : offset + size], "big")
        offset += size
    if major == 0:
        return number, offset
    if major == 1:
        return -1 - number, offset
    if major in (2, 3):
        content = body[offset : offset + number]
        return (content if major == 2 else content.decode()), offset + number
    if major == 4:
        elements = []
        for _ in range(number):
            element, offset = decoded(body, offset)
            elements.append(element)
        return elements, offset
    if major == 5:
        entries = {}
        for _ in range(number):
            key, offset = decoded(body, offset)
            entries[str(key)], offset = decoded(body, offset)
        return entries, offset
    if major == 6:
        return decoded(body, offset)
    return {20: False, 21: True, 22: None}.get(additional, number), offset


def elements(body):
    """The elements of a frame's array, up to the first that cannot be read: a host passes on payloads that are no CBOR."""
    found = []
    try:
        count, offset = body[0] & 31, 1
        if count == 24:
            count, offset = body[1], 2
        for _ in range(count):
            element, offset = decoded(body, offset)
            found.append(element)
    except (IndexError, UnicodeDecodeError, RecursionError, MemoryError):
        pass
    return found


class Link:
    """One side of a link that sends anything, and reads only what it needs."""

    def __init__(self, stream, name="", cookie=""):
        self.stream, self.name, self.cookie = stream, name, cookie
        self.unread = b""
        self.incarnation = self.host = 0
        # How many events it has sent, and the sequence of the newest event that it got.
        self.sent = self.received = 0
        # Whether the host has sent the numbers of the names that it wants, and which of these names end something.
        self.is_told_names, self.endings = False, set()
        # Whether the host still takes frames, as far as this side has noticed.
        self.is_open = True

    @classmethod
    def inherited(cls):
        stream = socket.socket(fileno=int(os.environ["EVENT_BRIDGE_FD"]))
        return cls(stream, os.environ["EVENT_BRIDGE_NAME"], os.environ["EVENT_BRIDGE_COOKIE"])

    @classmethod
    def attached(cls, path, name):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(path)
        return cls(stream, name)

    def hello(self, features=0, window=1 << 20, events=4096):
        return [HELLO, "event-bridge", 1, 1, self.name, self.cookie, "process-fuzzer", window, events, 1 << 24, features]

    def send(self, data):
        """Whether the host still takes frames."""
        try:
            self.stream.sendall(data)
        except OSError:
            self.is_open = False
        return self.is_open

    def read(self, seconds):
        """The next frame, decoded; None if there is none in time, or the stream has ended."""
        self.stream.settimeout(max(seconds, 0.000001))
        while True:
            if len(self.unread) >= 4:
                length = int.from_bytes(self.unread[:4], "big")
                if len(self.unread) >= 4 + length:
                    body, self.unread = self.unread[4 : 4 + length], self.unread[4 + length :]
                    return self.noted(elements(body))
            try:
                data = self.stream.recv(1 << 16)
            except (socket.timeout, BlockingIOError):
                return None
            except OSError:
                data = b""
            if not data:
                self.is_open = False
                return None
            self.unread += data

    def noted(self, message):
        if message[0] == WELCOME:
            self.host, self.incarnation = message[3], message[4]
        elif message[0] == INTEREST and len(message) > 1:
            self.is_told_names = True
            self.endings.update(number for number, name in message[1] if name in ENDINGS)
        elif message[0] in (EVENT, GAP, PLACED):
            self.received = message[1]
        return message

    def read_all(self, seconds):
        """Reads whatever comes within this time."""
        end = time.monotonic() + seconds
        while self.is_open and self.read(end - time.monotonic()) is not None and time.monotonic() < end:
            pass

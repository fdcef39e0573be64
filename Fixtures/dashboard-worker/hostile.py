#!/usr/bin/env python3
"""Sends hostile requests to a running dashboard: `hostile.py PORT` or `hostile.py SOCKET`.

Ends with 1 if the dashboard dies, keeps descriptors, tasks or threads, stops answering, or does what it has to refuse.
If DASHBOARD_TOKEN has the dashboard's token, requests with the right token have hostile bodies, too.
"""

import argparse
import collections
import json
import os
import random
import re
import socket
import struct
import sys
import time

# Seconds: for one answer, and for the dashboard to be as it was.
PATIENCE, RECOVERY = 20, 30
REFUSED = range(400, 600)
STARTED = "process_start_time_seconds"
KEPT = ("process_open_fds", "event_bridge_dashboard_tasks", "event_bridge_dashboard_threads")


class Target:
    """The dashboard, by its address."""

    def __init__(self, address):
        self.address, self.is_port = address, address.isdigit()
        self.host = f"127.0.0.1:{address}" if self.is_port else "localhost"

    def connected(self):
        if self.is_port:
            return socket.create_connection(("127.0.0.1", int(self.address)), PATIENCE)
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(PATIENCE)
        stream.connect(self.address)
        return stream

    def answer(self, data, is_half_closed=True):
        """The answer to these bytes, until the other side closes."""
        with self.connected() as stream:
            try:
                stream.sendall(data)
                if is_half_closed:
                    stream.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                # The dashboard has answered before it had the whole request.
                pass
            return received(stream)

    def request(self, method="GET", path="/", fields=(), body=b"", host=None):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host if host is None else host}", *fields]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body

    def metrics(self):
        """The start of the dashboard, and the counts of what it has open or under way."""
        answer = self.answer(self.request(path="/metrics")).decode()
        found = re.findall(rf"^({STARTED}|{'|'.join(KEPT)}) (\S+)$", answer, re.MULTILINE)
        return {name: float(value) for name, value in found}


def received(stream):
    parts = []
    try:
        while data := stream.recv(1 << 16):
            parts.append(data)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def status(answer):
    found = re.match(rb"HTTP/1\.1 ([0-9]{3}) ", answer)
    return int(found.group(1)) if found else 0


class Mischief:
    """Makes the requests, one round of every kind at a time."""

    def __init__(self, target, token, seed):
        self.target, self.token, self.random = target, token, random.Random(seed)

    def bytes(self, count):
        return bytes(self.random.randrange(256) for _ in range(count))

    def word(self, count):
        return "".join(self.random.choice("abcXYZ019-._~") for _ in range(count))

    def round(self):
        """Yields requests as bytes, each with the statuses that may answer it; 0 is an end without an answer."""
        request = self.target.request
        good = request()
        # No request at all.
        yield b"", {0}
        yield self.bytes(self.random.randrange(1, 4096)), {0, *REFUSED}
        yield b"\x16\x03\x01\x02\x00\x01\x00" + self.bytes(64), {0, *REFUSED}
        yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED
        yield good[: self.random.randrange(1, len(good) - 1)], {0, *REFUSED}
        place = self.random.randrange(len(good))
        yield good[:place] + bytes([self.random.randrange(256)]) + good[place + 1 :], {0, 200, *REFUSED}
        yield good[:place] + self.bytes(3) + good[place:], {0, 200, *REFUSED}
        # Lines and fields.
        for line in (
            b"GET /", b"GET  / HTTP/1.1", b"GET / HTTP/9.9", b"GET / http/1.1", b"GET\t/\tHTTP/1.1", b" / HTTP/1.1",
        ):  # fmt: skip
            yield line + b"\r\n" + good.partition(b"\r\n")[2], REFUSED
        for target in ("*", "a", "http://evil.example/", "//evil.example\x00", "/" + "a" * 3000, "/\x7f"):
            yield request(path=target), REFUSED
        for field in ("no colon", " Folded: x", "A b: x", ": x", "A: \x00", "A\x01: x", "A : x", "A: \x1b[2J"):
            yield request(fields=["A: x", field]), REFUSED
        yield request(fields=[f"X-{number}: x" for number in range(80)]), REFUSED
        yield request(fields=["X: " + "a" * self.random.randrange(8200, 60000)]), REFUSED
        yield b"GET / HTTP/1.1\r\n" + b"a" * 300_000, REFUSED
        yield good.replace(b"\r\n", b"\n"), REFUSED
        for method in ("PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS", "get", self.word(9), "G" * 1000):
            yield request(method), REFUSED
        # Other sites.
        for host in (
            "evil.example", "127.0.0.1", "localhost:1", "localhost.evil.example", "", "[::1]:80", "127.0.0.1:0x1f90",
        ):  # fmt: skip
            if host != self.target.host:
                yield request(host=host), REFUSED
        yield b"GET / HTTP/1.1\r\n\r\n", REFUSED
        yield request(fields=["Host: evil.example"]), REFUSED
        own = self.target.host
        for origin in ("http://evil.example", "null", f"https://{own}", f"http://{own}.evil.example"):
            yield request(path="/events", fields=["Origin: " + origin]), REFUSED
            yield self.command("/publish", {"type": "Forged"}, ["Origin: " + origin]), REFUSED
            yield self.command("/dead-letters/1/redeliver", {}, ["Origin: " + origin]), REFUSED
        # Paths.
        unknown = "/" + self.word(40)
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/worker.py", "/events/", unknown, "/%00"):
            yield request(path=path), REFUSED
        # Bodies and their lengths.
        for length in ("-1", "+5", "5, 5", "0x5", "99999999999999999999", "1e3", "", "70000"):
            yield request("POST", "/publish", [f"Content-Length: {length}"], b"hello"), REFUSED
        yield request("POST", "/publish", ["Transfer-Encoding: chunked"], b"5\r\nhello\r\n0\r\n\r\n"), REFUSED
        yield request("POST", "/publish", ["Content-Length: 5", "Transfer-Encoding: chunked"], b"0\r\n\r\n"), REFUSED
        yield request("POST", "/publish", ["Content-Length: 5", "Content-Length: 6"], b"hello!"), REFUSED
        yield request("POST", "/publish", ["Content-Length: 500"], b"{"), REFUSED
        yield request("POST", "/publish", ["Content-Length: 70000"], b"x" * 70000), REFUSED
        # Several at once: one is answered, and the connection closed.
        yield good * 20, {200}
        # Commands without the token.
        yield request("POST", "/publish"), REFUSED
        yield request(path="/publish"), REFUSED
        for wrong in (
            "", "Bearer", "Bearer ", "Bearer é", f"Bearer {self.word(32)}", f"Basic {self.token}",
            f"Bearer {self.token}x",
        ):  # fmt: skip
            yield self.command("/publish", {"type": "Forged"}, authorization=wrong), REFUSED
            yield self.command("/workers/dashboard/restart", {}, authorization=wrong), REFUSED
            yield self.command("/dead-letters/1/discard", {}, authorization=wrong), REFUSED
        yield self.command("/publish", {"type": "Forged"}, kind="text/plain"), REFUSED
        yield self.command("/dead-letters/1/redeliver", {}, kind="text/plain"), REFUSED
        for method in ("GET", "HEAD", "DELETE"):
            yield request(method, "/dead-letters/1/discard"), REFUSED
        # With the token: bodies for which the host would end the dashboard, if the dashboard passed them on.
        for body in (
            b"", b"{", b"[]", b"7", b'"x"', b"null", b"{}", b'{"type": 7}', b'{"type": ""}', b'{"type": "*"}',
            b'{"type": "A", "data": []}', b'{"type": "A", "data": {"x": NaN}}', b'{"type": "A", "data": {"x": 1e999}}',
            b'{"type": "A", "data": {"x": 18446744073709551616}}', b'{"type": "A", "data": {"x": 1, "x": 2}}',
            b'{"type": "A", "data": {"x": "\\ud83d"}}', b'{"type": "A", "data": {"\\udfff": 1}}',
            b'{"type": "\\ud83d"}',
            b'{"type": "' + b"A" * 257 + b'"}', b'{"type": "A", "data": ' + b'{"x":' * 70 + b"1" + b"}" * 71,
            b"[" * 60000, b'{"type": "A", "data": {"x": ' + b"9" * 6000 + b"}}", b"\xff\xfe", b"\xef\xbb\xbf{}",
            b'{"type": "A\x00"}', self.bytes(400),
        ):  # fmt: skip
            yield self.command("/publish", body), REFUSED
        for worker in ("nobody", "%00", "a" * 500, "%ff%fe", "..%2f..", "%F0%9F%92%A9", "%1b%5b2J"):
            yield self.command(f"/workers/{worker}/restart", {}), REFUSED
        # Letters that no host has: a host numbers its letters from 1.
        for letter in ("0", "-1", "1e3", "0x1", "", "%31", "9" * 18, "9" * 400, "\u0661", "1/..", "1%00"):
            for action in ("redeliver", "discard", "show", ""):
                yield self.command(f"/dead-letters/{letter}/{action}", {}), REFUSED

    def command(self, path, body, fields=(), authorization=None, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        said = f"Bearer {self.token}" if authorization is None else authorization
        own = [f"Authorization: {said}", f"Content-Type: {kind}", f"Content-Length: {len(data)}"]
        return self.target.request("POST", path, [*own, *fields], data)

    def breaks_off(self):
        """Goes away without a word, in the middle of a request or of an answer."""
        stream = self.target.connected()
        stream.sendall(self.random.choice((b"GET / HT", self.target.request(), self.target.request(path="/events"))))
        if self.random.random() < 0.5:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.close()

    def crowd(self, count, data):
        """Opens many listeners at once, none of which reads; returns how many are turned away."""
        streams = []
        try:
            for _ in range(count):
                streams.append(self.target.connected())
                streams[-1].sendall(data)
            turned_away = 0
            for stream in streams:
                stream.settimeout(0.2)
                try:
                    turned_away += status(stream.recv(64)) == 503
                except (TimeoutError, ConnectionResetError):
                    pass
            return turned_away
        finally:
            for stream in streams:
                stream.close()


def attack(target, token, rounds, seed):
    """Returns the number of requests for each status; exits at the first request with an answer that is not allowed."""
    mischief = Mischief(target, token, seed)
    statuses = collections.Counter()
    for _ in range(rounds):
        for data, allowed in mischief.round():
            found = status(target.answer(data))
            statuses[found] += 1
            if found not in allowed:
                sys.exit(f"hostile: {data[:200]!r} was answered with {found}")
        for _ in range(20):
            mischief.breaks_off()
            statuses[0] += 1
        if status(target.answer(target.request())) != 200:
            sys.exit("hostile: the page is not served any more")
    for count, data in ((100, b"GET / HTTP/1.1\r\n"), (40, target.request(path="/events"))):
        if mischief.crowd(count, data) == 0:
            sys.exit(f"hostile: of {count} at once none was turned away")
        statuses[503] += count
    return statuses


def is_as_before(after, before):
    # The dashboard may have had work of its own before.
    return after[STARTED] == before[STARTED] and all(after[name] <= before[name] for name in KEPT)


def recovered(target, before):
    """The metrics once nothing is kept; the last metrics if something is still kept after the time for recovery."""
    end = time.monotonic() + RECOVERY
    while True:
        after = target.metrics()
        if is_as_before(after, before) or time.monotonic() > end:
            return after
        # The dashboard closes half-open connections at their deadline.
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description="Sends hostile requests to a dashboard.")
    parser.add_argument("address", help="a port of 127.0.0.1, or the path of a Unix socket")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    target = Target(chosen.address)
    before = target.metrics()
    if not before.keys() >= {STARTED, *KEPT}:
        sys.exit(f"hostile: there is no dashboard: {before}")
    token = os.environ.get("DASHBOARD_TOKEN", "no token at all")
    statuses = attack(target, token, chosen.rounds, chosen.seed)
    after = recovered(target, before)
    if not is_as_before(after, before):
        sys.exit(f"hostile: before {before}, afterwards {after}")
    told = ", ".join(f"{count} with {number or 'no answer'}" for number, count in sorted(statuses.items()))
    print(f"{sum(statuses.values())} requests of seed {chosen.seed}: {told}; descriptors, tasks and threads as before")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"hostile: {error}")

"""The web server: one request for each connection, and bounds on all of it."""

import asyncio
import json
import re
import urllib.parse

import metrics
import publication
from desk import DeskError
from request import LARGEST_HEAD, Refusal, Request

MOST_CONNECTIONS = 64
# Seconds: for the request, for its answer to be taken, and for the rest of a request that was refused.
READING, WRITING, LINGERING = 10, 10, 1
LARGEST_REST = 1 << 20

REASONS = {
    200: "OK", 202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 421: "Misdirected Request",
    431: "Request Header Fields Too Large", 501: "Not Implemented", 503: "Service Unavailable",
    504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}  # fmt: skip

RESTART = re.compile(r"/workers/([^/]+)/restart")
# The host's numbers have 64 bits, but no host comes to numbers of more than 18 digits.
LETTER = re.compile(r"/dead-letters/([0-9]{1,18})/(redeliver|discard)")


class Server:
    """Answers admitted requests from the picture, and gives commands through the desk and the bridge."""

    def __init__(self, page, guard, picture, listeners, desk, bridge):
        self.page, self.guard, self.picture, self.listeners = page, guard, picture, listeners
        self.desk, self.bridge = desk, bridge
        self.connections = 0

    async def open(self, address):
        """Listens; raises OSError if the address is taken."""
        listener = address.listener()
        self.guard.admit(address.hosts)
        return await asyncio.start_server(self._connected, sock=listener, limit=LARGEST_HEAD)

    async def _connected(self, reader, writer):
        self.connections += 1
        try:
            if self.connections > 2 * MOST_CONNECTIONS:
                return writer.transport.abort()
            await self._serve(reader, writer)
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            # The other side is gone or takes nothing, or the worker ends.
            writer.transport.abort()
        finally:
            self.connections -= 1
            self.listeners.remove(writer)
            writer.close()

    async def _serve(self, reader, writer):
        request = None
        try:
            if self.connections > MOST_CONNECTIONS:
                raise Refusal(503, "there are too many connections")
            try:
                request = await asyncio.wait_for(Request.read(reader), READING)
            except asyncio.TimeoutError as error:
                raise Refusal(408, f"the request took longer than {READING} s") from error
            if request is None:
                return
            self.guard.check(request)
            if request.path == "/events" and request.method == "GET":
                return await self._stream(reader, writer)
            status, kind, body = await self._answer(request)
        except Refusal as refusal:
            status, kind, body = refusal.status, "application/json", said(refusal=refusal.text)
        is_head = request is not None and request.method == "HEAD"
        writer.write(self._head(status, kind, len(body)) + (b"" if is_head else body))
        await asyncio.wait_for(writer.drain(), WRITING)
        await self._linger(reader, writer)

    async def _answer(self, request):
        """A status, a type and a body."""
        restart = RESTART.fullmatch(request.path)
        letter = LETTER.fullmatch(request.path)
        is_command = restart is not None or letter is not None or request.path == "/publish"
        if not is_command and request.path not in ("/", "/events", "/metrics"):
            raise Refusal(404, "there is no such page")
        if request.method not in (("POST",) if is_command else ("GET", "HEAD")):
            raise Refusal(405, f"{'POST' if is_command else 'GET'} is the method of this path")
        if is_command:
            self.guard.check_command(request)
            if restart is not None:
                return await self._restart(urllib.parse.unquote(restart.group(1), errors="replace"))
            if letter is not None:
                return await self._settle(int(letter.group(1)), letter.group(2))
            return await self._publish(*publication.parsed(request.body))
        if request.path == "/metrics":
            text = metrics.text(self.picture, self.listeners)
            return 200, "text/plain; version=0.0.4; charset=utf-8", text.encode()
        if request.path == "/events":
            return 200, "text/event-stream", b""
        return 200, "text/html; charset=utf-8", self.page.body

    async def _restart(self, worker):
        refusal = await answered(self.desk.restart(worker))
        if refusal is not None:
            raise Refusal(409, refusal)
        return 200, "application/json", said(restarted=worker)

    async def _settle(self, letter, action):
        outcome = await answered(self.desk.redeliver(letter) if action == "redeliver" else self.desk.discard(letter))
        if outcome["kind"] == "unknown":
            raise Refusal(404, f"there is no dead letter {letter}")
        if outcome["kind"] == "refused":
            raise Refusal(409, outcome.get("refusal") or "it was refused")
        return 200, "application/json", said(letter=letter, outcome=outcome["kind"], worker=outcome.get("worker"))

    async def _publish(self, name, data):
        try:
            # A line that was begun is written to its end, however long the host has no room.
            await asyncio.wait_for(asyncio.shield(self.bridge.publish(name, data)), WRITING)
        except asyncio.TimeoutError as error:
            raise Refusal(504, "the host takes no events now; it gets this one later") from error
        return 202, "application/json", said(published=name)

    async def _stream(self, reader, writer):
        """Tells the listener everything until it goes away, sends a byte, or is too slow."""
        if self.listeners.is_full:
            raise Refusal(503, "there are too many listeners")
        writer.write(self._head(200, "text/event-stream", None))
        self.listeners.add(writer, dict(self.picture.whole(), hasToken=self.guard.token is not None))
        await reader.read(1)

    async def _linger(self, reader, writer):
        # Unread bytes at the close would cancel the answer.
        if writer.can_write_eof():
            writer.write_eof()
        end = asyncio.get_running_loop().time() + LINGERING
        rest = LARGEST_REST
        while rest > 0 and (left := end - asyncio.get_running_loop().time()) > 0:
            data = await asyncio.wait_for(reader.read(LARGEST_HEAD), left)
            if not data:
                return
            rest -= len(data)

    def _head(self, status, kind, length):
        fields = {
            "Content-Type": kind,
            "Cache-Control": "no-store",
            "Connection": "close",
            "Content-Security-Policy": self.page.policy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        if length is not None:
            fields["Content-Length"] = str(length)
        if status == 401:
            fields["WWW-Authenticate"] = "Bearer"
        lines = [f"HTTP/1.1 {status} {REASONS[status]}", *(f"{name}: {value}" for name, value in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode()


async def answered(asked):
    """The host's answer to a command."""
    try:
        return await asked
    except DeskError as error:
        raise Refusal(503, str(error)) from error
    except asyncio.TimeoutError as error:
        raise Refusal(504, "the host has not answered in time; the command may be done yet") from error


def said(**fields):
    return json.dumps(fields).encode() + b"\n"

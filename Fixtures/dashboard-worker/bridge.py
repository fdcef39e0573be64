"""The worker's link to its host, in lines mode: docs/guide/workers-in-any-language.md."""

import asyncio
import json
import os
import socket

# How many bytes one turn reads before other tasks have their turn.
PIECE = 1 << 16


class Bridge:
    """The link to the host: a line for each message, both ways.

    The dashboard acknowledges nothing: it only looks. So no publisher waits for it, and nothing comes to it twice.
    """

    def __init__(self, stream, name, cookie):
        self.stream, self.name, self.cookie = stream, name, cookie
        self.writing = asyncio.Lock()

    @classmethod
    def inherited(cls):
        """Takes the link out of the environment, so that nothing else can speak over it."""
        stream = socket.socket(fileno=int(os.environ.pop("EVENT_BRIDGE_FD")))
        stream.set_inheritable(False)
        stream.setblocking(False)
        return cls(stream, os.environ.pop("EVENT_BRIDGE_NAME"), os.environ.pop("EVENT_BRIDGE_COOKIE"))

    async def greet(self, wants, publishes):
        """Says hello. `publishes` are the names that the worker may publish; None is for any."""
        hello = {"bridge": "hello", "name": self.name, "cookie": self.cookie, "library": "dashboard worker 1.0"}
        hello.update(wants=wants, acknowledge="none")
        if publishes is not None:
            hello["publishes"] = publishes
        await self.say(hello)

    async def say(self, message):
        """Writes a line; waits while the host has no room for it."""
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        async with self.writing:
            await asyncio.get_running_loop().sock_sendall(self.stream, line)

    async def change_interest(self, wants, unwants):
        await self.say({"bridge": "interest", "wants": wants, "unwants": unwants})

    async def publish(self, name, data):
        await self.say({"specversion": "1.0", "type": name, "data": data})

    async def messages(self):
        """The host's messages, until the host asks the worker to drain, rejects it, or is gone."""
        async for line in self._lines():
            message = json.loads(line)
            if message.get("bridge") == "drain":
                return
            if message.get("bridge") in ("reject", "goodbye"):
                raise SystemExit(message.get("text"))
            yield message, len(line)

    async def _lines(self):
        loop = asyncio.get_running_loop()
        begun = []
        while data := await loop.sock_recv(self.stream, PIECE):
            *whole, rest = data.split(b"\n")
            for line in whole:
                yield b"".join([*begun, line])
                begun = []
            begun.append(rest)
            # A socket that always has bytes would keep the other tasks waiting.
            await asyncio.sleep(0)

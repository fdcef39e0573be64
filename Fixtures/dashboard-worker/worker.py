#!/usr/bin/env python3
"""A worker that shows a running host as a live page: docs/guide/dashboard.md. It needs the standard library only."""

import argparse
import asyncio
import os
import sys

sys.dont_write_bytecode = True

from address import PortAddress, SocketAddress
from bridge import Bridge
from desk import Desk
from guard import SHORTEST_TOKEN, Guard
from listeners import Listeners
from page import Page
from picture import REPORTS, Picture
from sampling import EVERYTHING, MOST, Sampling
from server import Server

# The seconds of a tick, in which the page gets its news; the number of ticks after which the page gets the whole state;
# and the seconds until a taken address is tried again.
TICK, TICKS, RETRY = 0.25, 4, 0.25
LARGEST_PORT = (1 << 16) - 1


def port(text):
    number = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= number <= LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"found {text}, expected a port from 0 to {LARGEST_PORT}")
    return number


def options():
    parser = argparse.ArgumentParser(description="A live page of the host that starts this worker.")
    parser.add_argument("--port", type=port, default=8765, help="of 127.0.0.1; 0 is any that is free")
    parser.add_argument("--socket", metavar="PATH", help="serve on this Unix socket, and on no port")
    parser.add_argument("--control", metavar="PATH", default="run/supervisor.sock", help="the host's control socket")
    parser.add_argument("--most", type=int, metavar="COUNT", default=MOST,
                        help=f"events of a quarter of a second, of more a sample; {MOST} unless given")  # fmt: skip
    return parser.parse_args()


async def listen(server, address):
    """Listens as soon as the address is free; the worker that this one replaces may have it until it has drained."""
    is_told = False
    while True:
        try:
            serving = await server.open(address)
            print(f"the page is at {address}", file=sys.stderr, flush=True)
            return serving
        except OSError as error:
            if not is_told:
                print(f"{address} cannot be served yet: {error}", file=sys.stderr, flush=True)
            is_told = True
            await asyncio.sleep(RETRY)


async def tell(picture, listeners, sampling):
    """Tells the open pages what has happened, a few times a second."""
    while True:
        for _ in range(TICKS):
            await asyncio.sleep(TICK)
            sampling.turn_tick()
            news = picture.take_news()
            if news is not None:
                listeners.tell("news", news)
        picture.turn_second(await sampling.turn_second())
        listeners.tell("now", picture.now())


async def follow(bridge, picture, sampling):
    async for message, size in bridge.messages():
        if not picture.is_passing(message) or await sampling.takes():
            picture.told(message, size)


def raise_error(tasks):
    """Raises the error with which one of these tasks, which have ended, has failed."""
    for task in tasks:
        task.result()


async def main():
    chosen = options()
    token = os.environ.pop("DASHBOARD_TOKEN", "")
    if token and len(token) < SHORTEST_TOKEN:
        raise SystemExit(f"DASHBOARD_TOKEN has {len(token)} characters; it needs {SHORTEST_TOKEN}")
    # Programs encode other characters in a header in different ways, so no request would have the token.
    if not token.isascii() or not token.isprintable():
        raise SystemExit("DASHBOARD_TOKEN has a character that is not a printable one of ASCII")
    if token.endswith(" "):
        raise SystemExit("DASHBOARD_TOKEN has a space at its end, which a header does not carry")
    bridge = Bridge.inherited()
    address = SocketAddress(chosen.socket) if chosen.socket else PortAddress(chosen.port)
    picture, listeners, desk = Picture(bridge.name), Listeners(), Desk(chosen.control)
    sampling = Sampling(bridge, chosen.most)
    server = Server(Page(), Guard(token), picture, listeners, desk, bridge)
    await bridge.greet([EVERYTHING, *REPORTS], publishes=None if token else [])
    listening = asyncio.ensure_future(listen(server, address))
    # A free address is served before the worker is ready.
    done, _ = await asyncio.wait([listening], timeout=RETRY)
    raise_error(done)
    await bridge.say({"bridge": "ready"})
    tasks = {
        listening,
        asyncio.ensure_future(desk.watch(picture.reported, picture.troubled)),
        asyncio.ensure_future(tell(picture, listeners, sampling)),
        asyncio.ensure_future(follow(bridge, picture, sampling)),
    }
    # The host ends the worker, and so does any failure. Only the task that listens ends otherwise, with the page served.
    while done <= {listening}:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        raise_error(done)
    address.leave()
    await bridge.say({"bridge": "goodbye", "reason": "shutdown"})


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except ConnectionError:
        # The host is gone.
        pass

"""The control events: requests for the state of the host, its workers and its dead letters, and commands about them.

The host answers only attached clients, over its control socket (docs/reference/control-socket.md). With `control: true`
the configuration lets this worker attach. Clients speak frames: docs/reference/wire-protocol.md.
"""

import asyncio
import time

import cbor

HELLO, WELCOME, REJECT, INTEREST, READY, EVENT, ACKNOWLEDGE, REFUSE, GOODBYE = 0, 1, 2, 3, 4, 8, 9, 10, 15
REPORTED, ANSWERED, LETTERS, SETTLED = 1, 2, 3, 4
# The numbers and names of the events with which the host answers.
ANSWERS = [
    [REPORTED, "BridgeStatusReported"],
    [ANSWERED, "CommandAnswered"],
    [LETTERS, "DeadLettersReported"],
    [SETTLED, "DeadLetterSettled"],
]
# The option of an event that names its cause.
CAUSE = 2
WINDOW_BYTES, WINDOW_EVENTS, LARGEST_FRAME = 1 << 20, 4096, 16 << 20
# Seconds.
INTERVAL, PATIENCE, COMMAND_PATIENCE, PAUSE = 1, 5, 30, 1


class DeskError(Exception):
    """The reason why the host does not answer, as a sentence."""


class Desk:
    """A client of the control socket that attaches again whenever the link has ended."""

    def __init__(self, path):
        self.path = path
        self.link = None

    async def watch(self, report, trouble):
        """Calls `report` each second with the host's state and dead letters, or `trouble` with why they are unknown."""
        while True:
            try:
                self.link = await asyncio.wait_for(Link.attached(self.path), PATIENCE)
                reading = asyncio.ensure_future(self.link.read())
                try:
                    while True:
                        answer = await self.link.ask("BridgeStatusRequested", {}, PATIENCE)
                        letters = await self.link.ask("DeadLettersRequested", {"after": 0}, PATIENCE)
                        report(answer["report"], letters["letters"], letters["isComplete"])
                        await asyncio.sleep(INTERVAL)
                finally:
                    reading.cancel()
                    self.link.close()
                    self.link = None
            except asyncio.TimeoutError:
                trouble("the host does not answer at its control socket")
            except asyncio.IncompleteReadError:
                trouble("the host has ended the link")
            except (OSError, ValueError, DeskError) as error:
                trouble(f"{self.path}: {error}")
            await asyncio.sleep(PAUSE)

    async def restart(self, worker):
        """Returns when the worker is ready again: None, or why it is not."""
        answer = await self._command("WorkerRestartRequested", {"worker": worker})
        return answer.get("refusal")

    async def redeliver(self, letter):
        """Returns the outcome: `DeadLetterOutcome` of BridgeControl."""
        answer = await self._command("DeadLetterRedeliveryRequested", {"letter": letter})
        return answer["outcome"]

    async def discard(self, letter):
        """Returns the outcome."""
        answer = await self._command("DeadLetterDiscardRequested", {"letter": letter})
        return answer["outcome"]

    async def _command(self, name, payload):
        if self.link is None:
            raise DeskError("there is no link to the control socket")
        return await self.link.ask(name, payload, COMMAND_PATIENCE)


class Link:
    """One connection to the control socket."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.incarnation = self.sent = 0
        self.is_told_interest = asyncio.Event()
        self.pending = {}

    @classmethod
    async def attached(cls, path):
        reader, writer = await asyncio.open_unix_connection(path)
        link = cls(reader, writer)
        try:
            windows = [WINDOW_BYTES, WINDOW_EVENTS, LARGEST_FRAME]
            link._write([HELLO, "event-bridge", 1, 1, "dashboard", "", "dashboard 1.0", *windows])
            kind, *rest = await link._frame()
            if kind == REJECT:
                raise DeskError(rest[1])
            if kind != WELCOME:
                raise DeskError(f"the host answered a hello with a frame of kind {kind}")
        except BaseException:
            link.close()
            raise
        link.incarnation = rest[3]
        link._write([INTEREST, ANSWERS, []])
        link._write([READY])
        return link

    async def ask(self, name, payload, seconds):
        """Publishes an event, and returns the payload of its answer."""
        if self.writer.is_closing():
            raise DeskError("the host has ended the link")
        await asyncio.wait_for(self.is_told_interest.wait(), seconds)
        answer = asyncio.get_running_loop().create_future()
        number = self.publish(name, payload)
        self.pending[number] = answer
        try:
            return await asyncio.wait_for(answer, seconds)
        finally:
            self.pending.pop(number, None)

    def publish(self, name, payload):
        """Publishes an event, and returns its number on this link."""
        self.sent += 1
        self._write([EVENT, self.sent, None, time.time_ns(), name, None, payload])
        return self.sent

    async def read(self):
        """Takes frames until the end of the link, which also ends all open requests."""
        try:
            while True:
                kind, *rest = await self._frame()
                if kind == INTEREST:
                    self.is_told_interest.set()
                elif kind == EVENT:
                    self._answered(rest[4] or {}, rest[5])
                    self._write([ACKNOWLEDGE, self.incarnation, rest[0], 0, []])
                elif kind == REFUSE:
                    self._end(rest[0], DeskError(rest[2]))
                elif kind == GOODBYE:
                    raise DeskError(rest[1] or "the host has said goodbye")
        except (OSError, ValueError, IndexError, asyncio.IncompleteReadError, DeskError) as error:
            for number in list(self.pending):
                self._end(number, DeskError(str(error)))
            self.close()

    def close(self):
        self.writer.close()

    def _answered(self, options, payload):
        # If the receiver of a frame has published the event that an identifier names, the identifier is -1 - number.
        cause = options.get(CAUSE)
        answer = self.pending.get(-1 - cause) if isinstance(cause, int) else None
        if answer is not None and not answer.done():
            answer.set_result(payload)

    def _end(self, number, error):
        answer = self.pending.get(number)
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _write(self, frame):
        body = cbor.encoded(frame)
        self.writer.write(len(body).to_bytes(4, "big") + body)

    async def _frame(self):
        length = int.from_bytes(await self.reader.readexactly(4), "big")
        if length > LARGEST_FRAME:
            raise ValueError(f"a frame of {length} bytes")
        return cbor.decoded(await self.reader.readexactly(length))

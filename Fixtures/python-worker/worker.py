#!/usr/bin/env python3
"""A worker in Python that needs the standard library only: it counts the words of each text that it is sent."""

import json
import os


class Bridge:
    """The link to the host: a line for each message, both ways."""

    def __init__(self, wants, publishes):
        # Programs that this process starts must not use the link: they get neither the variables nor the descriptor.
        number = int(os.environ.pop("EVENT_BRIDGE_FD"))
        os.set_inheritable(number, False)
        self.reading = os.fdopen(number, "r", encoding="utf-8", newline="\n")
        # Each line leaves at once, because only lines that have left outlive this process.
        self.writing = open(os.dup(number), "w", encoding="utf-8", newline="\n", buffering=1)
        self.say(
            bridge="hello",
            name=os.environ.pop("EVENT_BRIDGE_NAME"),
            cookie=os.environ.pop("EVENT_BRIDGE_COOKIE"),
            library="python worker 1.0",
            wants=wants,
            publishes=publishes,
        )
        self.say(bridge="ready")

    def say(self, **message):
        # NaN raises a ValueError here, and `settle` refuses the event; a line with NaN makes the host end this process.
        self.writing.write(json.dumps(message, allow_nan=False) + "\n")

    def publish(self, name, data, cause):
        """Publishes an event; `cause` is the event being handled, which has led to it."""
        self.say(specversion="1.0", type=name, causationid=cause["id"], data=data)

    def run(self, handle):
        """Hands every event to `handle`, one after the other, until the host asks to end or is gone."""
        for line in self.reading:
            message = json.loads(line)
            kind = message.get("bridge")
            if kind is None:
                self.settle(message, handle)
            elif kind == "gap":
                self.say(bridge="ack", sequence=message["sequence"])
            elif kind == "drain":
                self.say(bridge="goodbye", reason="shutdown")
                return
            elif kind == "reject":
                raise SystemExit(message["text"])

    def settle(self, event, handle):
        try:
            handle(event)
        except ValueError as error:
            # The event is wrong, so a second try would fail as well.
            self.say(bridge="refuse", sequence=event["sequence"], reason="invalid", text=str(error))
        except Exception as error:
            self.say(bridge="refuse", sequence=event["sequence"], reason="failed", text=repr(error))
        else:
            # The resulting events were written before this, so a host that reads the acknowledgement already has them.
            self.say(bridge="ack", sequence=event["sequence"])


def main():
    bridge = Bridge(wants=["TextReceived"], publishes=["WordsCounted"])

    def count(event):
        text = event["data"].get("text")
        if not isinstance(text, str):
            raise ValueError("text: expected a text")
        bridge.publish("WordsCounted", {"text": text, "words": len(text.split())}, cause=event)

    bridge.run(count)


if __name__ == "__main__":
    main()

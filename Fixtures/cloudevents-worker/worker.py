#!/usr/bin/env python3
"""A worker with the official CloudEvents package: it says how long each counted text takes to read."""

import json
import os

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

WORDS_PER_MINUTE = 200


def main():
    number = int(os.environ.pop("EVENT_BRIDGE_FD"))
    os.set_inheritable(number, False)
    reading = os.fdopen(number, "rb")
    writing = open(os.dup(number), "wb", buffering=0)
    events = JSONFormat()

    def say(**message):
        writing.write(json.dumps(message).encode() + b"\n")

    say(
        bridge="hello",
        name=os.environ.pop("EVENT_BRIDGE_NAME"),
        cookie=os.environ.pop("EVENT_BRIDGE_COOKIE"),
        library="cloudevents worker 1.0",
        wants=["WordsCounted"],
        publishes=["ReadingTimed"],
    )
    say(bridge="ready")
    for line in reading:
        message = json.loads(line)
        if "bridge" not in message:
            counted = events.read(CloudEvent, line)
            data = counted.get_data()
            timed = CloudEvent(
                attributes={
                    "type": "ReadingTimed",
                    "source": "cloudevents-worker",
                    "causationid": counted.get_id(),
                },
                data={"text": data["text"], "minutes": data["words"] / WORDS_PER_MINUTE},
            )
            writing.write(events.write(timed) + b"\n")
            say(bridge="ack", sequence=counted.get_extension("sequence"))
        elif message["bridge"] == "gap":
            say(bridge="ack", sequence=message["sequence"])
        elif message["bridge"] == "drain":
            say(bridge="goodbye", reason="shutdown")
            return


if __name__ == "__main__":
    main()

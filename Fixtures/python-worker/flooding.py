#!/usr/bin/env python3
"""The worker of a test: publishes as many WorkRequested as its argument says before it acknowledges a single answer.

The worker reads meanwhile, because a worker whose input is full does not get the host's acknowledgements either.
"""

import queue
import sys
import threading

from worker import Bridge


def main():
    bridge = Bridge(wants=["WorkDone"], publishes=["WorkRequested"])
    stream, lines = bridge.reading, queue.SimpleQueue()

    def read():
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    for number in range(int(sys.argv[1])):
        bridge.say(specversion="1.0", type="WorkRequested", data={"number": number + 1, "text": ""})
    bridge.reading = iter(lines.get, None)
    bridge.run(lambda event: None)


if __name__ == "__main__":
    main()

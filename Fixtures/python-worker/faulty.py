#!/usr/bin/env python3
"""The worker of the tests: answers WorkRequested with WorkDone, and goes wrong as its argument or a request says."""

import os
import signal
import sys
import time

from worker import Bridge

misbehaviour = sys.argv[1] if len(sys.argv) > 1 else ""


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class FaultyBridge(Bridge):
    def say(self, **message):
        if message.get("bridge") == "hello":
            if misbehaviour == "acknowledge-nothing":
                message["acknowledge"] = "none"
            if misbehaviour == "wrong-cookie":
                message["cookie"] = "wrong"
        if misbehaviour == "acknowledge-nothing" and message.get("bridge") in ("ack", "refuse"):
            return
        super().say(**message)


def main():
    bridge = FaultyBridge(wants=["WorkRequested"], publishes=["WorkDone"])

    def publish(number, text, event):
        bridge.publish("WorkDone", {"number": number, "text": text, "attempt": event["attempt"]}, cause=event)

    def work(event):
        number, text = event["data"]["number"], event["data"]["text"]
        if text == "poison":
            die()
        if text == "poison once" and event["attempt"] == 1:
            die()
        if text == "refuse":
            raise ValueError("it was asked to refuse")
        if text.startswith("line "):
            bridge.writing.write(text.removeprefix("line ") + "\n")
        if text == "long":
            bridge.writing.write("{" + " " * (17 << 20) + "}\n")
        if text == "break off":
            bridge.say(bridge="goodbye", reason="violation", text="it was asked to break off")
            os._exit(1)
        if text == "burst":
            for answer in range(number):
                publish(answer + 1, text, event)
            die()
        if text == "fork":
            # The child holds the link, and writes to it when its parent is gone.
            parent = os.getpid()
            if os.fork() == 0:
                while os.getppid() == parent:
                    time.sleep(0.01)
                try:
                    bridge.say(bridge="heartbeat")
                    time.sleep(3600)
                finally:
                    os._exit(0)
            die()
        publish(float("nan") if text == "no number" else number, text, event)
        if text == "die after answer":
            die()

    bridge.run(work)


if __name__ == "__main__":
    main()

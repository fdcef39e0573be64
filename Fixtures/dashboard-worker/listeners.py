"""Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html"""

import json
import socket

MOST = 16
# Bytes that wait for one reader; a reader with more is too slow, and may come again for a new picture.
LARGEST_QUEUE = 1 << 18
# Bytes that the system keeps in addition; by default it keeps some megabytes.
SYSTEM_QUEUE = 1 << 16


class Listeners:
    """The open pages. The dashboard waits for none of them."""

    def __init__(self):
        self.writers = set()
        self.slow = 0

    def __len__(self):
        return len(self.writers)

    @property
    def is_full(self):
        return len(self.writers) >= MOST

    def add(self, writer, picture):
        self.writers.add(writer)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_QUEUE)
        self._write(writer, message("picture", picture))

    def remove(self, writer):
        self.writers.discard(writer)

    def tell(self, name, value):
        if self.writers:
            line = message(name, value)
            for writer in list(self.writers):
                self._write(writer, line)

    def close(self):
        for writer in list(self.writers):
            writer.transport.abort()

    def _write(self, writer, line):
        # A picture alone may be larger than the bound.
        waiting = writer.transport.get_write_buffer_size()
        if waiting > 0 and waiting + len(line) > LARGEST_QUEUE:
            self.slow += 1
            self.remove(writer)
            writer.transport.abort()
        else:
            writer.write(line)


def message(name, value):
    # JSON in ASCII has no line breaks, which would end the field.
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()

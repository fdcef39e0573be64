"""The address of the page: a port of this machine, or a Unix socket."""

import contextlib
import os
import socket
import stat

BACKLOG = 64


class PortAddress:
    """127.0.0.1 and a port; 0 stands for any free port, which is known when there is a listener."""

    def __init__(self, port):
        self.port = port

    @property
    def hosts(self):
        return [f"{host}:{self.port}" for host in ("127.0.0.1", "localhost")]

    def __str__(self):
        return f"http://127.0.0.1:{self.port}/"

    def listener(self):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self.port))
            listener.listen(BACKLOG)
            self.port = listener.getsockname()[1]
        except BaseException:
            listener.close()
            raise
        return listener

    def leave(self):
        """Does nothing: the port is free when its listener is closed."""


class SocketAddress:
    """A Unix socket for this user alone, to which browsers come through `ssh -L` or a proxy."""

    hosts = ["localhost"]

    def __init__(self, path):
        self.path, self.identity = path, None

    def __str__(self):
        return self.path

    def listener(self):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made = f"{self.path}.{os.getpid()}"
        try:
            listener.bind(made)
            os.chmod(made, 0o600)
            listener.listen(BACKLOG)
            self.identity = os.stat(made).st_ino
            # This replaces the socket of a process that was killed or that drains.
            os.rename(made, self.path)
        except BaseException:
            # Otherwise no later try of this process, nor of another with its number, could bind there.
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.lstat(made).st_mode):
                    os.unlink(made)
            listener.close()
            raise
        return listener

    def leave(self):
        """Removes the socket unless it is a successor's."""
        with contextlib.suppress(OSError):
            if os.stat(self.path).st_ino == self.identity:
                os.unlink(self.path)

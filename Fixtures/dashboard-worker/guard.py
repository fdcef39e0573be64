"""Decides which requests are served: none by DNS rebinding or forged by other pages, no command without the token."""

import hashlib
import hmac

from request import Refusal

SHORTEST_TOKEN = 16


class Guard:
    """Knows the names of the page's address, and the token if there is one."""

    def __init__(self, token):
        self.hosts = self.origins = frozenset()
        self.token = digest(token) if token else None

    def admit(self, hosts):
        """Sets the names under which the page is reached from now on."""
        self.hosts = frozenset(hosts)
        self.origins = frozenset(f"http://{host}" for host in hosts)

    def check(self, request):
        """Refuses requests that another site may have sent through a browser."""
        host = request.fields.get("host")
        if host is None:
            raise Refusal(400, "there is no Host")
        if host.lower() not in self.hosts:
            raise Refusal(421, "Host names another server")
        if request.fields.get("origin", "").lower() not in {*self.origins, ""}:
            raise Refusal(403, "Origin is another site")

    def check_command(self, request):
        """Refuses requests without the token."""
        if self.token is None:
            raise Refusal(403, "the dashboard was started without a token: it only looks")
        scheme, _, token = request.fields.get("authorization", "").partition(" ")
        # Digests are compared, because a comparison in constant time still shows the length.
        if scheme.lower() != "bearer" or not hmac.compare_digest(digest(token), self.token):
            raise Refusal(401, "Authorization is not the token")
        if request.fields.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "Content-Type is not application/json")


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()

"""The page, and what a browser may do with it."""

import base64
import hashlib
import pathlib
import re

FILE = pathlib.Path(__file__).with_name("page.html")


class Page:
    """One file without outside resources, whose script and style are the only ones that run."""

    def __init__(self):
        text = FILE.read_text(encoding="utf-8")
        self.body = text.encode()
        policy = {
            "default-src": "'none'",
            "script-src": allowed(text, "script"),
            "style-src": allowed(text, "style"),
            "connect-src": "'self'",
            "img-src": "data:",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        self.policy = "; ".join(f"{name} {value}" for name, value in policy.items())


def allowed(text, element):
    """The digest of what stands in an element, as a policy names it."""
    content = re.search(f"<{element}>(.*?)</{element}>", text, re.DOTALL).group(1)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

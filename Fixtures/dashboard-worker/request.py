"""One HTTP/1.1 request (RFC 9112), read with a bound on everything."""

import asyncio
import re

LONGEST_LINE, LARGEST_HEAD, MOST_FIELDS, LARGEST_BODY = 2048, 8192, 64, 1 << 16

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
TARGET = re.compile(rb"/[!-~]*")
VALUE = re.compile(rb"[\t -~\x80-\xff]*")


class Refusal(Exception):
    """Why a request is refused: a status and a sentence."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status, text


class Request:
    """A method, a path, fields by their names in small letters, and a body."""

    def __init__(self, method, path, fields):
        self.method, self.path, self.fields = method, path, fields
        self.body = b""

    @classmethod
    async def read(cls, reader):
        """The next request; None if the stream ends before it begins."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return None
            raise Refusal(400, "the request ends in its head") from error
        except asyncio.LimitOverrunError as error:
            raise Refusal(431, f"the head has more than {LARGEST_HEAD} bytes") from error
        request = cls.parsed(head)
        length = request.content_length
        if length:
            try:
                request.body = await reader.readexactly(length)
            except asyncio.IncompleteReadError as error:
                raise Refusal(400, "the request ends in its body") from error
        return request

    @classmethod
    def parsed(cls, head):
        line, *rest = head[:-4].split(b"\r\n")
        if len(line) > LONGEST_LINE:
            raise Refusal(414, f"the request line has more than {LONGEST_LINE} bytes")
        if len(head) > LARGEST_HEAD:
            raise Refusal(431, f"the head has more than {LARGEST_HEAD} bytes")
        parts = line.split(b" ")
        if len(parts) != 3 or not TOKEN.fullmatch(parts[0]):
            raise Refusal(400, "the request line is not METHOD PATH VERSION")
        method, target, version = parts
        if version not in (b"HTTP/1.1", b"HTTP/1.0"):
            raise Refusal(505, "the version is not HTTP/1.1")
        if not TARGET.fullmatch(target):
            raise Refusal(400, "the target is no path")
        return cls(method.decode(), target.decode().partition("?")[0], cls._fields(rest))

    @staticmethod
    def _fields(lines):
        if len(lines) > MOST_FIELDS:
            raise Refusal(431, f"there are more than {MOST_FIELDS} fields")
        fields = {}
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not TOKEN.fullmatch(name) or not VALUE.fullmatch(value):
                raise Refusal(400, "a field is not NAME: VALUE")
            key = name.decode().lower()
            if key in fields:
                raise Refusal(400, f"the field {key} is there twice")
            fields[key] = value.strip(b" \t").decode("latin-1")
        return fields

    @property
    def content_length(self):
        if "transfer-encoding" in self.fields:
            raise Refusal(501, "a body needs a Content-Length")
        text = self.fields.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", text):
            raise Refusal(400, "Content-Length is no number")
        if int(text) > LARGEST_BODY:
            raise Refusal(413, f"the body has more than {LARGEST_BODY} bytes")
        return int(text)

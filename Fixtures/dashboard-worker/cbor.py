"""CBOR (RFC 8949) as far as the host's control events need it: whole numbers, texts, arrays, maps and simple values."""

import struct


def encoded(item):
    """The bytes of an item."""
    if item is None:
        return b"\xf6"
    if isinstance(item, int):
        return _head(0, item) if item >= 0 else _head(1, -1 - item)
    if isinstance(item, str):
        text = item.encode()
        return _head(3, len(text)) + text
    if isinstance(item, dict):
        return _head(5, len(item)) + b"".join(encoded(key) + encoded(value) for key, value in item.items())
    return _head(4, len(item)) + b"".join(map(encoded, item))


def decoded(body):
    """The item that these bytes encode; raises ValueError if they encode none."""
    try:
        item, end = _item(body, 0)
    except (IndexError, struct.error, RecursionError) as error:
        raise ValueError(f"no CBOR: {error!r}") from error
    if end != len(body):
        raise ValueError(f"no CBOR: {len(body) - end} bytes behind the item")
    return item


def _head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for additional, form in ((24, ">B"), (25, ">H"), (26, ">I"), (27, ">Q")):
        if number >> 8 * struct.calcsize(form) == 0:
            return bytes([major << 5 | additional]) + struct.pack(form, number)
    raise ValueError(number)


def _item(body, offset):
    major, additional = body[offset] >> 5, body[offset] & 31
    offset += 1
    number = additional
    if additional > 27:
        raise ValueError(f"no CBOR of definite length at byte {offset - 1}")
    if additional >= 24:
        size = 1 << (additional - 24)
        number, offset = int.from_bytes(_cut(body, offset, size), "big"), offset + size
    if major == 0:
        return number, offset
    if major == 1:
        return -1 - number, offset
    if major in (2, 3):
        content = _cut(body, offset, number)
        return (bytes(content) if major == 2 else content.decode()), offset + number
    if major == 4:
        elements = []
        for _ in range(number):
            element, offset = _item(body, offset)
            elements.append(element)
        return elements, offset
    if major == 5:
        entries = {}
        for _ in range(number):
            key, offset = _item(body, offset)
            if not isinstance(key, (int, str)):
                raise ValueError(f"a key of a map is neither a number nor a text at byte {offset}")
            entries[key], offset = _item(body, offset)
        return entries, offset
    if major == 6:
        return _item(body, offset)
    if additional == 27:
        return struct.unpack(">d", body[offset - 8 : offset])[0], offset
    if additional == 26:
        return struct.unpack(">f", body[offset - 4 : offset])[0], offset
    return {20: False, 21: True}.get(number), offset


def _cut(body, offset, size):
    if offset + size > len(body):
        raise ValueError("no CBOR: it is cut short")
    return body[offset : offset + size]

"""Compares our readers of CBOR and JSON with Python's, cbor2 and json, on documents made from a seed.

Usage: readers.py [--documents N] [--seed N] [PROBE]
PROBE is the program reader-probe, by default .build/debug/reader-probe. Half of the documents are valid, half are spoiled.
Exit status 1 if one reader takes a document that the other refuses, or if they read different values. Differences that
docs/internals/testing.md lists do not count. Prints a line that begins with "not checked" if cbor2 cannot be installed.
"""

import argparse
import collections
import importlib
import importlib.metadata
import io
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / ".build-logs" / "python"
# The newest version on PyPI when this line was written. Another version may read some document in another way.
CBOR2 = "6.3.0"
DEEPEST = 12


class Refused(Exception):
    """A document that Python's reader takes and ours has to refuse."""


# --- Documents


class Documents:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        edges = [0, 1, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
        return self.random.choice(edges) if self.random.random() < 0.5 else self.random.getrandbits(self.random.randint(1, 64))

    def double(self):
        kind = self.random.random()
        if kind < 0.3:
            return self.random.choice([0.0, -0.0, 1.5, 5e-324, 1.7976931348623157e308, float("inf"), -float("inf"), float("nan")])
        if kind < 0.6:
            return self.random.uniform(-1000, 1000)
        return struct.unpack(">d", self.random.randbytes(8))[0]

    def text(self):
        letters = "ab\"\\/\n\t\x00\x1f\x7f\x80é€\u2028\ufeff\U0001f600"
        return "".join(self.random.choice(letters) for _ in range(self.random.choice([0, 1, 3, 8, 24, 40])))

    def spoiled(self, data):
        data = bytearray(data)
        for _ in range(self.random.choice([1, 1, 1, 2, 4])):
            kind = self.random.randrange(4)
            place = self.random.randrange(len(data) + 1)
            if kind == 0:
                data[place:place] = self.random.randbytes(1)
            elif kind == 1:
                del data[place : place + self.random.randint(1, 3)]
            elif kind == 2 and place < len(data):
                data[place] = self.random.randrange(256)
            elif place < len(data):
                data[place] ^= 1 << self.random.randrange(8)
        return bytes(data)

    # CBOR

    def head(self, major, number):
        widths = [size for size in (0, 1, 2, 4, 8) if (number < 24 if size == 0 else number < 1 << 8 * size)]
        size = widths[0] if self.random.random() < 0.8 else self.random.choice(widths)
        if size == 0:
            return bytes([major << 5 | number])
        return bytes([major << 5 | 23 + size.bit_length()]) + number.to_bytes(size, "big")

    def string(self, major, content):
        if self.random.random() < 0.9:
            return self.head(major, len(content)) + content
        # In chunks; a chunk of text is a whole character.
        pieces = [piece.encode() for piece in content.decode()] if major == 3 else [content[:3], content[3:]]
        return bytes([major << 5 | 31]) + b"".join(self.head(major, len(piece)) + piece for piece in pieces) + b"\xff"

    def cbor(self, depth=0):
        kind = self.random.randrange(9 if depth < DEEPEST else 7)
        if kind == 0:
            return self.head(0, self.number())
        if kind == 1:
            return self.head(1, self.number())
        if kind == 2:
            return self.string(2, self.random.randbytes(self.random.choice([0, 1, 5, 23, 24, 300])))
        if kind == 3:
            return self.string(3, self.text().encode())
        if kind == 4:
            return self.random.choice([b"\xf4", b"\xf5", b"\xf6", b"\xf7", b"\xe0", b"\xf3", b"\xf8\x20", b"\xf8\xff"])
        if kind == 5:
            return b"\xfb" + struct.pack(">d", self.double())
        if kind == 6:
            return self.random.choice([b"\xf9" + self.random.randbytes(2), b"\xfa" + self.random.randbytes(4)])
        count = self.random.choice([0, 1, 2, 3, 5, 17, 30] if depth < 2 else [0, 1, 2])
        if kind == 7:
            return self.container(4, count, [self.cbor(depth + 1) for _ in range(count)])
        keys = [self.string(3, f"k{index}".encode()) if self.random.random() < 0.7 else self.head(0, index) for index in range(count)]
        return self.container(5, count, [key + self.cbor(depth + 1) for key in keys])

    def container(self, major, count, parts):
        if self.random.random() < 0.8:
            return self.head(major, count) + b"".join(parts)
        return bytes([major << 5 | 31]) + b"".join(parts) + b"\xff"

    # JSON

    def json(self, depth=0):
        blank = self.random.choice(["", "", "", " ", "\n", "\t ", "\r"])
        return blank + self.json_value(depth) + self.random.choice(["", "", " "])

    def json_value(self, depth):
        kind = self.random.randrange(7 if depth < DEEPEST else 5)
        if kind == 0:
            return self.random.choice(["null", "true", "false"])
        if kind == 1:
            return self.random.choice(["", "-"]) + str(self.number())
        if kind == 2:
            whole, part, power = self.number() % 10**6, self.random.getrandbits(40), self.random.randint(-400, 400)
            return self.random.choice([f"{whole}.{part}", f"-{whole}e{power}", f"{whole}.{part}E+{abs(power)}", repr(self.random.random())])
        if kind in (3, 4):
            return json.dumps(self.text(), ensure_ascii=self.random.random() < 0.5)
        count = self.random.choice([0, 1, 2, 3, 5])
        if kind == 5:
            return "[" + ",".join(self.json(depth + 1) for _ in range(count)) + "]"
        return "{" + ",".join(f'"k{index}":' + self.json(depth + 1) for index in range(count)) + "}"

    def next(self, form):
        data = self.cbor() if form == "cbor" else self.json().encode()
        return data if self.random.random() < 0.5 else self.spoiled(data)


# --- What Python reads, in the notation of reader-probe


def notation(value, cbor2):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**64) <= value < 2**64:
            raise Refused("an integer of more than 64 bits")
        return f"u{value}" if value >= 0 else f"n{-1 - value}"
    if isinstance(value, float):
        if cbor2 is None and math.isinf(value):
            raise Refused("a number that is infinite as a double")
        return "nan" if value != value else "f" + format(struct.unpack(">Q", struct.pack(">d", value))[0], "x")
    if isinstance(value, bytes):
        return "b" + value.hex()
    if isinstance(value, str):
        return "t" + value.encode().hex()
    if isinstance(value, (list, tuple)):
        return "[" + "".join(notation(element, cbor2) + "," for element in value) + "]"
    if isinstance(value, dict):
        return "{" + "".join(f"{notation(key, cbor2)}:{notation(element, cbor2)}," for key, element in value.items()) + "}"
    if cbor2 is not None and value is cbor2.undefined:
        return "undefined"
    if cbor2 is not None and isinstance(value, cbor2.CBORSimpleValue):
        return f"s{value.value}"
    raise Refused(f"a {type(value).__name__}")


def members(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("a key twice")
    return found


def no_constant(name):
    raise Refused(name)


def read_json(document, _):
    value = json.loads(document.decode("utf-8"), object_pairs_hook=members, parse_constant=no_constant)
    return notation(value, None)


def read_cbor(document, cbor2):
    stream = io.BytesIO(document)
    value = cbor2.CBORDecoder(stream).decode()
    if stream.tell() != len(document):
        raise Refused("bytes behind the item")
    return notation(value, cbor2)


def verdict(read, document, cbor2):
    try:
        return read(document, cbor2)
    except (Refused, ValueError, RecursionError, OverflowError, UnicodeError, EOFError, MemoryError) as error:
        return f"- {type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - cbor2's own errors have no common base in all of its versions.
        return f"- {type(error).__name__}: {error}"


# --- The comparison


def is_known(form, ours):
    """Whether this difference is one of those that docs/internals/testing.md lists."""
    if form == "json":
        return False
    if ours.startswith("- "):
        # Python keeps the last of two equal keys.
        return "more than once" in ours or "nested" in ours or "levels" in ours
    # cbor2 turns tagged items into objects of its own, and refuses those that do not fit their tag. Python takes the
    # keys 1, 1.0, true and simple(1) for one key, and has no arrays or maps as keys.
    return re.search(r"g\d+\(|(true|false|nan|s\d+|f[0-9a-f]+|[\]})]):", ours) is not None


def compare(form, count, seed, probe, cbor2):
    documents = Documents(f"{seed}-{form}")
    made = [documents.next(form) for _ in range(count)]
    data = b"".join(struct.pack(">I", len(document)) + document for document in made)
    lines = subprocess.run([probe, form], input=data, capture_output=True, check=True).stdout.decode().split("\n")[:-1]
    if len(lines) != len(made):
        sys.exit(f"reader-probe {form} said {len(lines)} lines of {len(made)} documents")
    seen, differences = collections.Counter(), 0
    for document, ours in zip(made, lines):
        theirs = verdict(read_json if form == "json" else read_cbor, document, cbor2)
        if ours == theirs:
            seen["taken alike"] += 1
        elif ours.startswith("- ") and theirs.startswith("- "):
            seen["refused by both"] += 1
        elif is_known(form, ours):
            seen["known difference"] += 1
        else:
            differences += 1
            if differences <= 10:
                print(f"{form} {document.hex()}\n  ours:   {ours[:300]}\n  theirs: {theirs[:300]}")
    print(f"readers of {form}: {count} documents, {', '.join(f'{number} {what}' for what, number in seen.items())}, {differences} otherwise")
    return differences


def library():
    """The module cbor2 in the version that is wanted, which is installed if need be; None if that fails."""
    sys.path.insert(0, str(LIBRARIES))
    try:
        if installed() != CBOR2:
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(LIBRARIES), f"cbor2=={CBOR2}"]
            subprocess.run(command, capture_output=True, timeout=120, check=True)
            # When Python first looked for modules, this directory did not exist.
            importlib.invalidate_caches()
        import cbor2
    except (OSError, subprocess.SubprocessError, ImportError):
        return None
    return cbor2 if installed() == CBOR2 else None


def installed():
    """The version of the cbor2 that an import would find; None if there is none."""
    try:
        return importlib.metadata.version("cbor2")
    except importlib.metadata.PackageNotFoundError:
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(48))
    parser.add_argument("probe", nargs="?", default=ROOT / ".build" / "debug" / "reader-probe")
    arguments = parser.parse_args()
    print(f"readers: seed {arguments.seed}")
    differences = compare("json", arguments.documents, arguments.seed, arguments.probe, None)
    cbor2 = library()
    if cbor2 is None:
        print(f"not checked: the reader of CBOR against cbor2 {CBOR2}, which cannot be installed here")
    else:
        differences += compare("cbor", arguments.documents, arguments.seed, arguments.probe, cbor2)
    return 1 if differences else 0


sys.exit(main())

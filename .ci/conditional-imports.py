"""Lists platform conditions that guard more than imports, outside BridgePlatform, the one module that may have them.

Usage: conditional-imports.py DIRECTORY...
Exit status 1 if there is one.
"""

import pathlib
import re
import sys

HOME = pathlib.PurePath("Sources/BridgePlatform")
PLATFORM = re.compile(r"\b(os|canImport)\s*\(")
IMPORT = re.compile(r"^(@\w+(\([^)]*\))?\s+)*((public|package|internal|fileprivate|private)\s+)?import\s+\S")
# Besides imports, a condition may guard empty lines, comments, and an `#error` that refuses unknown platforms.
HARMLESS = re.compile(r"^($|//|#error\b)")


class Block:
    """A condition from its #if to its #endif."""

    def __init__(self, number):
        self.number = number
        self.is_platform = False
        self.guarded = None


def violations(path):
    stack = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip()
        if text.startswith("#if"):
            stack.append(Block(number))
        if text.startswith(("#if", "#elseif")) and stack:
            stack[-1].is_platform |= PLATFORM.search(text) is not None
        elif text.startswith("#endif") and stack:
            block = stack.pop()
            if block.is_platform and block.guarded is not None:
                yield f"{path}:{block.number}: a platform condition guards more than imports: {block.guarded}"
        elif stack and not text.startswith("#else") and not IMPORT.match(text) and not HARMLESS.match(text):
            for block in stack:
                block.guarded = block.guarded or f"line {number}: {text}"


def main(directories):
    found = [
        violation
        for directory in directories
        for path in sorted(pathlib.Path(directory).rglob("*.swift"))
        if HOME not in path.parents
        for violation in violations(path)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

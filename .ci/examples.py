"""Compares each example of a page with the file in which it is compiled and run.

Usage: examples.py PAGE=FILE...
The fenced block behind `<!-- example: NAME -->` is the end of the file, behind its imports.
Exit status 1 if a page and its file differ.
"""

import difflib
import pathlib
import re
import sys

BLOCK = re.compile(r"^<!-- example: \w+ -->\n```swift\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTS = re.compile(r"\A(import \w+\n)+\n")


def differences(page, file):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    if len(blocks) != 1:
        return [f"{page} has {len(blocks)} examples, expected one"]
    code = IMPORTS.sub("", file.read_text(encoding="utf-8"))
    return list(difflib.unified_diff(blocks[0].splitlines(), code.splitlines(), str(page), str(file), lineterm=""))


def main(pairs):
    if not pairs:
        sys.exit(__doc__)
    found = [line for pair in pairs for line in differences(*map(pathlib.Path, pair.split("=", 1)))]
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))

"""Compares each example of a page with the file that CI compiles and runs.

Usage: examples.py PAGE#NAME=FILE...
The fenced block after `<!-- example: NAME -->` has to equal the file; a block without imports, the file without them.
The arguments have to name a file for each example of each page.
Exit status 1 if a page and one of its files differ.
"""

import difflib
import pathlib
import re
import sys

BLOCK = re.compile(r"^<!-- example: ([\w-]+) -->\n```swift\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTS = re.compile(r"\A((public )?import \w+\n)+\n")


def differences(page, files):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    blocks = dict(BLOCK.findall(text))
    marks = text.count("<!-- example:")
    if marks != len(blocks):
        yield f"{page} has {marks} marks of examples, and {len(blocks)} blocks behind marks of their own"
    if blocks.keys() != files.keys():
        yield f"{page} has the examples {sorted(blocks)}, expected {sorted(files)}"
        return
    for name, block in blocks.items():
        code = pathlib.Path(files[name]).read_text(encoding="utf-8")
        if not IMPORTS.match(block):
            code = IMPORTS.sub("", code)
        lines = (block.splitlines(), code.splitlines())
        yield from difflib.unified_diff(*lines, f"{page}#{name}", files[name], lineterm="")


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    pages = {}
    for argument in arguments:
        place, file = argument.split("=", 1)
        page, name = place.split("#", 1)
        pages.setdefault(page, {})[name] = file
    found = [line for page, files in pages.items() for line in differences(page, files)]
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))

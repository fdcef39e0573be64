"""Compiles the Swift blocks of README.md, of all pages in docs, and of the catalogs of the reference documentation, as
code of another package that uses this one.

Usage: blocks.py BUILT
BUILT is the folder of products of a debug build of all targets and tests, such as .build/debug.

The blocks of a page are one module. Each block is compiled as the body of an asynchronous function that may throw. So a
block may consist of statements, and two blocks of a page may declare the same name. What a page takes for granted, such
as imports, is in docs/example-package/Blocks/PAGE.swift, which no page shows. A comment in the line above a block says
how else to treat it:

<!-- swift: declared -->              its declarations are at file level: the page's other blocks see them
<!-- swift: not compiled, REASON -->  another package cannot compile it
<!-- example: NAME -->                it is a file of docs/example-package, with or without its imports (examples.py)

Pages of docs/decisions are left out, because they show code as it was at the time. Run at the top of the checkout. Exit
status 1 if a block does not compile.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

PAGES = [
    pathlib.Path("README.md"),
    *sorted(pathlib.Path("docs").rglob("*.md")),
    *sorted(pathlib.Path("Sources").glob("*/*.docc/*.md")),
]
GIVEN = pathlib.Path("docs/example-package/Blocks")
FENCE = re.compile(r"^( *)```swift\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (swift|example): (.*) -->\Z")
IMPORT = re.compile(r"^(?:@testable |public )?import .*\n", re.MULTILINE)
REASON = "not compiled, "


def blocks(page):
    """The number of each block's first line, its code, and the mark above it."""
    text = page.read_text(encoding="utf-8")
    for block in FENCE.finditer(text):
        above = text[: block.start()].rstrip("\n").rpartition("\n")[2] if text[: block.start()].endswith("\n") else ""
        mark = MARK.match(above)
        line = text.count("\n", 0, block.start()) + 2
        yield line, block[2], (mark[1], mark[2]) if mark else ("swift", "")


def written(page, folder, found):
    """Writes the files of a page's module, and returns them: none if no block of the page is compiled here."""
    given = GIVEN / f"{page.stem}.swift"
    taken = given.read_text(encoding="utf-8") if given.exists() else ""
    imports = "".join(IMPORT.findall(taken))
    files = []
    for line, code, (kind, word) in blocks(page):
        if kind == "example":
            found["files of the example"] += 1
            continue
        if word.startswith(REASON) and len(word) > len(REASON):
            found["not compiled"] += 1
            print(f"{page}:{line}: {word}")
            continue
        if word not in ("", "declared"):
            sys.exit(f"{page}:{line}: found the mark {word!r}, expected \"declared\" or \"{REASON}REASON\"")
        found["compiled"] += 1
        place = f'#sourceLocation(file: "{page}", line: {line})\n'
        if word == "declared":
            source = f"{imports}{place}{code}"
        else:
            source = f"{imports}func block{line}() async throws {{\n{place}{code}}}\n"
        file = folder / f"{page.stem}-{line}.swift"
        file.write_text(source, encoding="utf-8")
        files.append(file)
    if files and taken:
        files.append(given)
    return files


def compiled(page, files, folder, built):
    """The compiler's errors in a page's blocks."""
    maps = [f"-fmodule-map-file={file}" for file in sorted(built.glob("C*.build/module.modulemap"))]
    command = [
        *("swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-suppress-warnings"),
        *("-module-name", "Page_" + re.sub(r"\W", "_", page.stem), "-module-cache-path", str(folder / "cache")),
        *("-I", str(built / "Modules")),
        *(word for each in maps for word in ("-Xcc", each)),
        *map(str, files),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip() if done.returncode else ""


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    built = pathlib.Path(arguments[0])
    folder = built / "blocks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    found = {"compiled": 0, "files of the example": 0, "not compiled": 0}
    modules = {}
    for page in PAGES:
        if page.parent != pathlib.Path("docs/decisions"):
            files = written(page, folder, found)
            if files:
                modules[page] = files
    unused = {file.stem for file in GIVEN.glob("*.swift")} - {page.stem for page in modules}
    errors = [f"{GIVEN / name}.swift: there is no page of that name with blocks" for name in sorted(unused)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors += pool.map(lambda each: compiled(*each, folder, built), modules.items())
    print("\n".join(filter(None, errors)), end="\n" if any(errors) else "")
    print("blocks of Swift: " + ", ".join(f"{count} {what}" for what, count in found.items()))
    return 1 if any(errors) else 0


sys.exit(main(sys.argv[1:]))

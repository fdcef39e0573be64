"""Makes the reference documentation of each library, and fails if DocC has a warning.

Usage: docc.py BUILT
BUILT is the folder of products of a debug build, such as .build/debug. Each library among the products of Package.swift
has a catalog, Sources/NAME/NAME.docc, whose landing page names every type and function at the top level of the module.
A catalog cannot link to the guides, so it names them by their paths in the checkout, and these files have to exist.
The archives are left in BUILT/documentation, for a web server or `docc preview`.

Run at the top of the checkout. Exit status 1 if something is missing or DocC has a warning.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARY = re.compile(r'\.library\(name: "(\w+)"')
GUIDE = re.compile(r"`(docs/[^`]*)`")
LINK = re.compile(r"^- ``(?:\w+/)?(\w+)(?:\([\w:]*\))?``$", re.MULTILINE)


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


def symbols(library, built, folder):
    """Writes the symbol graph of a library; returns the error, if there is one, and the names at the top level."""
    target = json.loads(output("swiftc", "-print-target-info")[1])["target"]["triple"]
    maps = [f"-fmodule-map-file={file}" for file in sorted(built.glob("C*.build/module.modulemap"))]
    status, said = output(
        *("swift", "symbolgraph-extract", "-module-name", library, "-minimum-access-level", "public"),
        *("-target", target, "-I", str(built / "Modules"), "-output-dir", str(folder)),
        *(word for each in maps for word in ("-Xcc", each)),
    )
    if status:
        return said, set()
    graph = json.loads((folder / f"{library}.symbols.json").read_text(encoding="utf-8"))
    tops = [symbol["pathComponents"] for symbol in graph["symbols"] if len(symbol["pathComponents"]) == 1]
    return "", {path[0].partition("(")[0] for path in tops}


def mistakes(library, docc, built, folder):
    catalog = pathlib.Path("Sources") / library / f"{library}.docc"
    page = catalog / f"{library}.md"
    if not page.exists():
        yield f"{page}: there is no such page, but a library of that name"
        return
    for each in sorted(catalog.glob("*.md")):
        named = GUIDE.findall(each.read_text(encoding="utf-8"))
        yield from (f"{each}: {guide}: there is no such file" for guide in named if not pathlib.Path(guide).exists())
    graphs = folder / "symbols" / library
    graphs.mkdir(parents=True)
    said, names = symbols(library, built, graphs)
    if said:
        yield said
        return
    listed = set(LINK.findall(page.read_text(encoding="utf-8")))
    yield from (f"{page}: {name} is in none of its topics" for name in sorted(names - listed))
    status, said = output(
        *(docc, "convert", str(catalog), "--additional-symbol-graph-dir", str(graphs), "--warnings-as-errors"),
        *("--output-path", str(folder / f"{library}.doccarchive")),
        *("--fallback-display-name", library, "--fallback-bundle-identifier", f"event-bridge.{library}"),
    )
    if status or "warning:" in said:
        yield said


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(__doc__)
    compiler = shutil.which("swiftc")
    docc = shutil.which("docc") or (compiler and shutil.which("docc", path=pathlib.Path(compiler).resolve().parent))
    if not docc:
        print("not checked: the reference documentation, as there is no docc")
        return 0
    built = pathlib.Path(arguments[0])
    folder = built / "documentation"
    shutil.rmtree(folder, ignore_errors=True)
    libraries = LIBRARY.findall(pathlib.Path("Package.swift").read_text(encoding="utf-8"))
    found = [line for library in libraries for line in mistakes(library, docc, built, folder)]
    print("\n".join(found), end="\n" if found else "")
    print(f"reference documentation of {len(libraries)} libraries")
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))

"""Compares docs/internals/architecture.md with the targets of Package.swift, the imports of the code, and the files and
functions on the way of an event. Checks how many stored properties and files of extensions a type has. Compares
docs/decisions/README.md with the pages beside it.

Usage: architecture.py [ROOT]
Exit status 1 if anything differs.
"""

import pathlib
import re
import sys

TARGET = re.compile(r'\n {8}\.(?:target|executableTarget)\((.*?)\n? *\),(?=\n)', re.DOTALL)
NAMES = re.compile(r"`([\w-]+)`")
IMPORT = re.compile(r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package)\s+)?import\s+(?:\w+\s+)?(\w+)\s*$", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+)\.h"', re.MULTILINE)
DECISION = re.compile(r"^- \[(\d{4})\]\((\d{4}-[\w-]+\.md)\): ", re.MULTILINE)
STOP = re.compile(r"`([\w+/-]+\.(?:swift|c))`((?:[:,] `\w+`)*)")
TYPE = re.compile(r"`([A-Z]\w*)(?:\.(\w+))?`")
HEAD = re.compile(
    r"^( *)(?:(?:public|package|private|fileprivate|final) )*(?:class|struct|actor) (\w+)[^\n]*\{\n", re.MULTILINE
)
# A computed property has a brace and no `=` before it.
COMPUTED = re.compile(r"^[^={]*\{")
PROPERTY = r"^ {%d}(?:@[\w.]+(?:\([^)\n]*\))? )*(?:[a-z]+(?:\(\w+\))? )*(?:let|var) (?:\w+|\([\w, ]+\))[^\n]*"
MOST_PROPERTIES, MOST_EXTENSIONS = 25, 6
# These types may have any number of extensions, which are the chapters of a state machine and of a parser.
CHAPTERS = {"SupervisorStateMachine", "Subcommand"}
DECLARED = r"\b(?:func|var|let|case|init) `?{}\b"


def section(page, title):
    """The text from a heading to the next one."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return found.group(1) if found else ""


def rows(text):
    """The cells of a table's rows, without its head."""
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def targets(manifest):
    """The dependencies of each target in Sources, in the manifest's order, and the number of the target's section."""
    head = manifest.split("swiftLanguageModes")[0]
    found, sections = {}, {}
    for number, part in enumerate(re.split(r"// MARK: - ", head)[1:]):
        for block in TARGET.findall(part):
            if "path:" in block:
                continue
            name = re.search(r'name: "([\w-]+)"', block).group(1)
            dependencies = re.search(r"dependencies: \[(.*?)\]", block, re.DOTALL)
            found[name] = set(re.findall(r'"([\w-]+)"', dependencies.group(1))) if dependencies else set()
            sections[name] = number
    return found, sections


def imports(directory, modules):
    """The modules of this package that the files of a directory import."""
    found = set()
    for path in directory.rglob("*"):
        if path.suffix in (".swift", ".c", ".h"):
            found.update((IMPORT if path.suffix == ".swift" else INCLUDE).findall(path.read_text(encoding="utf-8")))
    return (found & modules) - {directory.name}


def listed(names):
    return ", ".join(sorted(names)) or "nothing"


def check_modules(root, page):
    house = section(page, "Which module imports which")
    picture = set(re.findall(r"[\w-]+", house.split("```")[1]))
    table = {row[0].strip("`"): set(NAMES.findall(row[1])) for row in rows(house)}
    manifest, sections = targets((root / "Package.swift").read_text(encoding="utf-8"))
    folders = {path.name for path in (root / "Sources").iterdir()}
    if set(manifest) != folders:
        yield f"Package.swift has {listed(set(manifest) - folders)} and lacks {listed(folders - set(manifest))} of Sources"
    for name in sorted(set(table) - set(manifest)):
        yield f"the import table has {name}, which is no target"
    for name, dependencies in manifest.items():
        if name not in picture:
            yield f"the picture of the modules lacks {name}"
        if name not in table:
            yield f"the import table lacks {name}"
        elif table[name] != dependencies:
            yield f"{name} imports {listed(table[name])} by the table, {listed(dependencies)} by Package.swift"
        used = imports(root / "Sources" / name, set(manifest))
        if used != dependencies:
            yield f"{name} imports {listed(used)} in its code, {listed(dependencies)} by Package.swift"
        for dependency in sorted(dependencies):
            if sections.get(dependency, 0) > sections[name]:
                yield f"{name} depends on {dependency}, which is above it in Package.swift"


def check_decisions(root, index):
    pages = sorted(path.name for path in (root / "docs/decisions").glob("[0-9]*.md"))
    links = DECISION.findall(index)
    for number, name in links:
        if name not in pages or not name.startswith(number):
            yield f"decision {number} is listed as {name}, which is no page of that number"
    names = [name for _, name in links]
    for name in pages:
        if name not in names:
            yield f"the list of decisions lacks {name}"
    if names != sorted(set(names)):
        yield "the list of decisions is not in order, each page once"
    sentence = re.search(r"No page has the numbers ([^:]*):", index)
    explained = set(re.findall(r"\d{4}", sentence.group(1))) if sentence else set()
    numbers = {name[:4] for name in pages}
    gaps = {f"{number:04}" for number in range(1, int(max(numbers)))} - numbers
    if gaps != explained:
        yield f"no page has the numbers {listed(gaps)}; explained are {listed(explained)}"


def check_stops(root, page):
    sources = [path.read_text(encoding="utf-8") for path in (root / "Sources").rglob("*.swift")]
    life = section(page, "Life of an event, from a worker to a frontend")
    for row in rows(life):
        if not STOP.search(row[2]):
            yield f"stop {row[0]} of the life of an event names no file"
        for file, functions in STOP.findall(row[2]):
            path = root / "Sources" / file
            if not path.is_file():
                yield f"stop {row[0]} of the life of an event names {file}, which does not exist"
                continue
            for function in NAMES.findall(functions):
                if not re.search(DECLARED.format(function), path.read_text(encoding="utf-8")):
                    yield f"stop {row[0]} of the life of an event names {function}, which {file} does not have"
    if not rows(life):
        yield "the life of an event has no table"
    for kind, member in TYPE.findall(section(page, "When a worker dies over an event")):
        homes = [text for text in sources if re.search(rf"\b(?:class|struct|enum|protocol|extension) {kind}\b", text)]
        if not homes or member and not any(re.search(DECLARED.format(member), text) for text in homes):
            yield f"the death of a worker names {kind}{member and '.'}{member}, which does not exist"


def stored(text, head):
    """How many stored properties a type has; `head` is the match of its head. The formatter indents members."""
    depth = len(head.group(1))
    end = re.compile(rf"^ {{{depth}}}\}}", re.MULTILINE).search(text, head.end())
    lines = re.findall(PROPERTY % (depth + 4), text[head.end() : end.start() if end else None], re.MULTILINE)
    return sum(1 for line in lines if " static " not in line and not COMPUTED.match(line))


def check_sizes(root, _):
    files = {}
    for path in sorted((root / "Sources").rglob("*.swift")):
        module, (name, plus, _) = path.relative_to(root / "Sources").parts[0], path.stem.partition("+")
        text = path.read_text(encoding="utf-8")
        if plus and name not in CHAPTERS and re.search(rf"^extension {name}\b", text, re.MULTILINE):
            files[module, name] = files.get((module, name), 0) + 1
        for head in HEAD.finditer(text):
            count = stored(text, head)
            if count > MOST_PROPERTIES:
                place = f"{head.group(2)} in {path.relative_to(root)}"
                yield f"{place} has {count} stored properties; {MOST_PROPERTIES} are the most"
    for (module, name), count in files.items():
        if count > MOST_EXTENSIONS:
            yield f"{name} of {module} has {count} files of extensions; {MOST_EXTENSIONS} are the most"


def main(root):
    checks = {
        "docs/internals/architecture.md": (check_modules, check_stops, check_sizes),
        "docs/decisions/README.md": (check_decisions,),
    }
    found = []
    for name, of_page in checks.items():
        page = (root / name).read_text(encoding="utf-8")
        found += [f"{name}: {mistake}" for check in of_page for mistake in check(root, page)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))

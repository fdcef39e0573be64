"""Finds words and names that docs/internals/style.md forbids.

Usage: words.py
Two tables there have them in their first columns.
"Words that are not used": looked for in comments and strings of Swift and C in Sources, and in the Markdown of README,
CHANGELOG, CONTRIBUTING and docs, without fenced blocks and `code`, and without the "quotations" in comments and pages.
"Names that are not used": looked for in the code of Swift and C in Sources, Fixtures, Tests and docs. A * stands for
any letters, of either case.
Run at the top of the checkout. Exit status 1 if there is one; its place is printed.
"""

import pathlib
import re
import sys

STYLE = pathlib.Path("docs/internals/style.md")
WORDS = "### Words that are not used"
NAMES = "### Names that are not used"
COMMENT = re.compile(r"^\s*(?:///?|/?\*)(.*)|\s//\s(.*)")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
STRING = re.compile(r'#+".*?"#+|"(?:\\.|[^"\\])*"')


def forbidden(heading):
    section = STYLE.read_text(encoding="utf-8").partition(heading)[2].partition("\n#")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    found = [word.strip().strip("`") for cell in cells[2:] for word in cell.split(",")]
    if not found:
        sys.exit(f"{STYLE} has no table under {heading!r}")
    return found


def words():
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, forbidden(WORDS)))})\b", re.IGNORECASE)


def names():
    patterns = []
    for name in forbidden(NAMES):
        pattern = re.escape(name).replace(r"\*", r"\w*")
        patterns.append(f"(?i:{pattern})" if "*" in name else pattern)
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)")


def code(path):
    """The lines of a source without comments."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = COMMENT.search(line)
        yield number, line[: found.start()] if found else line


def comments(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = COMMENT.search(line)
        if found:
            yield number, QUOTED.sub("", found[1] or found[2] or "")


def bare(path):
    """The lines of a source without comments and strings."""
    is_string = False
    for number, line in code(path):
        quotes = line.count('"""')
        if not is_string and not quotes:
            yield number, STRING.sub("", line)
        is_string ^= quotes % 2 == 1


def prose(path):
    is_fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, QUOTED.sub("", line)


def sources(*folders):
    return [path for folder in folders for end in ("swift", "c", "h") for path in pathlib.Path(folder).rglob(f"*.{end}")]


def main():
    pages = [pathlib.Path(name) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += [path for path in pathlib.Path("docs").rglob("*.md") if path != STYLE]
    looks = [(words(), path, lines) for path in sources("Sources") for lines in (comments, code)]
    looks += [(words(), path, prose) for path in pages]
    looks += [(names(), path, bare) for path in sources("Sources", "Fixtures", "Tests", "docs")]
    is_clean = True
    for pattern, path, lines in sorted(looks, key=lambda look: look[1]):
        for number, text in lines(path):
            found = pattern.search(text)
            if found:
                print(f"{path}:{number}: {found[0]!r}: {STYLE} says what to write")
                is_clean = False
    return 0 if is_clean else 1


sys.exit(main())

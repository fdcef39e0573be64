"""Finds words in comments and pages that docs/internals/style.md forbids.

Usage: words.py
The table under "Words that are not used" has them in its first column. Looked at are the comments of Swift and C in
Sources, and the Markdown of README, CHANGELOG, CONTRIBUTING and docs, without fenced blocks, `code` and "quotations".
Run at the top of the checkout. Exit status 1 if there is one; its place is printed.
"""

import pathlib
import re
import sys

STYLE = pathlib.Path("docs/internals/style.md")
HEADING = "### Words that are not used"
COMMENT = re.compile(r"^\s*(?:///?|/?\*)(.*)|\s//\s(.*)")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")


def forbidden():
    section = STYLE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n#")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    words = [word.strip() for cell in cells[2:] for word in cell.split(",")]
    if not words:
        sys.exit(f"{STYLE} has no table under {HEADING!r}")
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


def comments(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = COMMENT.search(line)
        if found:
            yield number, found[1] or found[2] or ""


def prose(path):
    is_fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield number, line


def main():
    words = forbidden()
    texts = {path: comments for end in ("swift", "c", "h") for path in pathlib.Path("Sources").rglob(f"*.{end}")}
    pages = [pathlib.Path(name) for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += [path for path in pathlib.Path("docs").rglob("*.md") if path != STYLE]
    texts.update({path: prose for path in pages})
    is_clean = True
    for path, lines in sorted(texts.items()):
        for number, text in lines(path):
            found = words.search(QUOTED.sub("", text))
            if found:
                print(f"{path}:{number}: {found[0]!r}: {STYLE} says what to write")
                is_clean = False
    return 0 if is_clean else 1


sys.exit(main())

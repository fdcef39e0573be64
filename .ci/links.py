"""Checks the links in all pages at the top of the checkout and in docs: the files and headings to which they lead have
to exist.

No arguments; run at the top of the checkout. Exit status 1 if one does not.
"""

import pathlib
import re
import sys

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z]+:")


def anchors(page):
    """The anchors that GitHub makes from the headings of a page."""
    titles = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def broken(page):
    for target in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if ELSEWHERE.match(target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"{page}: {target}: there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{page}: {target}: there is no such heading"


pages = [*sorted(pathlib.Path().glob("*.md")), *sorted(pathlib.Path("docs").rglob("*.md"))]
found = [line for page in pages for line in broken(page)]
print("\n".join(found), end="\n" if found else "")
sys.exit(1 if found else 0)

"""Finds lines of more than 120 columns in Markdown and in Swift comments; --wrap wraps the paragraphs with such
lines.

Usage: columns.py [--wrap]
Leaves Markdown's tables, headings and fenced code alone, and comments that follow code on a line. Run at the top of
the checkout. Exit status 1 if lines are found and not wrapped.
"""

import pathlib
import re
import sys
import unicodedata

WIDTH = 120

# The beginning of a list item, which is a paragraph. Its further lines are indented by the length of the match.
ITEM = re.compile(r"(\s*)([-+*] |[0-9]+[.)] )")
# A word that would begin a list item, a quotation or a heading if a line began with it.
MARKER = re.compile(r"([-+*>]|#+|[0-9]+[.)])$")
ALONE = re.compile(r"\s*(#|\||<|\[[^\]]*\]:|$)")
COMMENT = re.compile(r"(\s*)(///|//)( .*|)$")


def columns(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width(text):
    return sum(map(columns, text))


def wrapped(paragraph, room):
    """The paragraph's words in lines of so many columns, indented as the paragraph was."""
    start = ITEM.match(paragraph[0])
    first = re.match(r"\s*", paragraph[0])[0]
    hanging = " " * len(start[0]) if start else first
    lines = [first + start[2] if start else first]
    words = " ".join(each.strip() for each in paragraph)[len(start[2]) if start else 0 :].split()
    is_empty = True
    for word in whole(words, room // 2):
        if not is_empty and width(lines[-1]) + 1 + width(word) > room:
            # Before a word that would begin a list or a heading, the line begins with the word before it.
            before = lines[-1].rsplit(" ", 1) if MARKER.match(word) else None
            if before:
                lines[-1] = before[0]
            lines.append(hanging + (before[1] + " " + word if before else word))
            continue
        lines[-1] += word if is_empty else " " + word
        is_empty = False
    return lines


def whole(words, longest):
    """The words; text between backticks is one word if it is short."""
    piece = ""
    for word in words:
        piece += " " + word if piece else word
        if piece.count("`") % 2 and width(piece) < longest:
            continue
        yield piece
        piece = ""
    if piece:
        yield piece


def paragraphs(lines):
    """Groups of lines, each with whether it is a paragraph; any other group is one line, which is left alone."""
    group, is_fenced = [], False
    for line in lines:
        is_fence = line.lstrip().startswith("```")
        if is_fenced or is_fence or ALONE.match(line):
            if group:
                yield group, True
            yield [line], False
            group, is_fenced = [], is_fenced != is_fence
            continue
        if group and ITEM.match(line):
            yield group, True
            group = []
        group.append(line)
    if group:
        yield group, True


def wrap(lines, room):
    for group, is_paragraph in paragraphs(lines):
        is_long = is_paragraph and any(width(line) > room for line in group)
        yield from wrapped(group, room) if is_long else group


def markdown(text):
    return "\n".join(wrap(text.split("\n"), WIDTH))


def swift(text):
    result, block, head = [], [], None
    for line in [*text.split("\n"), None]:
        found = COMMENT.match(line) if line is not None else None
        here = (found[1], found[2]) if found else None
        if here != head and block:
            room = WIDTH - len(head[0]) - len(head[1]) - 1
            marked = (f"{head[0]}{head[1]} {each}".rstrip() for each in wrap(block, room))
            result.extend(marked)
            block = []
        head = here
        if found:
            block.append(found[3][1:])
        elif line is not None:
            result.append(line)
    return "\n".join(result)


KINDS = {".md": markdown, ".swift": swift}
FOLDERS = ["docs", "Sources", "Tests", "Fixtures"]
is_wrapping = sys.argv[1:] == ["--wrap"]
is_right = True
below = (each for name in FOLDERS for each in pathlib.Path(name).rglob("*.*"))
for file in sorted([*pathlib.Path().glob("*.md"), pathlib.Path("Package.swift"), *below]):
    if file.suffix not in KINDS or ".build" in str(file):
        continue
    text = file.read_text(encoding="utf-8")
    better = KINDS[file.suffix](text)
    if better == text:
        continue
    if is_wrapping:
        file.write_text(better, encoding="utf-8")
        continue
    is_right = False
    before = set(better.split("\n"))
    for number, line in enumerate(text.split("\n"), 1):
        if width(line) > WIDTH and line not in before:
            print(f"{file}:{number}: {width(line)} columns")
sys.exit(0 if is_right else 1)

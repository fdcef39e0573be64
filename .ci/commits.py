"""Checks the messages of new commits.

Usage: commits.py BASE
BASE is a commit, branch or tag, such as origin/main; commits that are not in it are new. Each message has a subject of
the form "area: what changes" in at most 72 columns without a full stop, an empty line, and a body that says why. Merges
are not checked. Run anywhere in a checkout. Prints each mistake with its commit. Exit status 1 if a message is wrong, 2
if there is no such base.
"""

import re
import subprocess
import sys

LONGEST_SUBJECT = 72
SUBJECT = re.compile(r"[a-z][a-z0-9-]*: \S.*[^.]")


def mistakes(message):
    """The mistakes of a message."""
    lines = message.rstrip("\n").split("\n")
    subject, rest = lines[0], lines[1:]
    if not SUBJECT.fullmatch(subject):
        yield 'the subject has not the form "area: what changes", without a full stop'
    if len(subject) > LONGEST_SUBJECT:
        yield f"the subject has {len(subject)} columns; {LONGEST_SUBJECT} are possible"
    if rest and rest[0]:
        yield "the line behind the subject is not empty"
    if not any(line.strip() for line in rest):
        yield "there is no body that says why"


def new_messages(base):
    """The commits that the base does not have, each with its message, the oldest first."""
    command = ["git", "log", "--reverse", "--no-merges", "-z", "--format=%h %B", f"{base}..HEAD", "--"]
    found = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if found.returncode != 0:
        print(f"{base} is no commit of this checkout: {found.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    for entry in filter(None, found.stdout.split("\0")):
        commit, _, message = entry.partition(" ")
        yield commit, message


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    is_right = True
    for commit, message in new_messages(sys.argv[1]):
        for mistake in mistakes(message):
            print(f"{commit} {message.splitlines()[0]!r}: {mistake}")
            is_right = False
    return 0 if is_right else 1


sys.exit(main())

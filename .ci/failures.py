"""Prints what matters of a failed test run's output, and collects the names of the failed tests.

Usage: failures.py OUTPUT NAMES
Appends one line for each failed, unfinished or crashed test of the file OUTPUT to the file NAMES.
"""

import collections
import re
import sys

ISSUE = re.compile(r"✘|\berror: |Fatal error|unexpected signal|^  FAILED  ")
# Arguments of a test may look like an issue.
HARMLESS = re.compile(r"^[◇✔]")
DETAIL = re.compile(r"^\s*↳")
# The first character of each line that reports what a test does.
EVENT = re.compile(r"^[◇✔✘➜]")
REPORT = re.compile(r"WARNING: ThreadSanitizer|ERROR: AddressSanitizer|FATAL: ThreadSanitizer|Program crashed")
STARTED = re.compile(r"^◇ ((?:Test|Suite) (?!case|run).+) started\.$")
# Looked for anywhere in a line, because a test's argument with a NUL swallows the end of its line.
ENDED = re.compile(
    r"[✔✘➜] ((?:Test|Suite) (?!case|run).+?)(?:(?: with \d+ test cases?)? (?:passed|failed) after [\d.]+ s| skipped(?:[.:]|$))"
)
FAILED = re.compile(r"^✘ (Test (?!case|run).+?)(?: with \d+ test cases?)? (?:recorded an issue|failed after [\d.]+ s)")
SEED = re.compile(r"^[A-Z_]+_SEED=\d+$")

LONGEST_LINE = 1000
MOST_ISSUES = 80
MOST_DETAILS = 40
MOST_REPORTS = 3
REPORT_LINES = 40
LAST_LINES = 20


def issues(lines):
    """The lines that name a failure, each with the lines of its details."""
    is_issue = is_detail = False
    details = 0
    for line in lines:
        is_new = ISSUE.search(line) is not None and HARMLESS.match(line) is None
        is_detail = (is_issue or is_detail) and (DETAIL.match(line) is not None or is_detail and EVENT.match(line) is None)
        details = details + 1 if is_detail else 0
        is_issue = is_new or (is_detail and DETAIL.match(line) is not None)
        if is_new or (is_detail and details <= MOST_DETAILS):
            yield line


def reports(lines):
    """The reports of sanitizers and crash reporters, each from its first line on."""
    last = -REPORT_LINES
    for index, line in enumerate(lines):
        if REPORT.search(line) and index >= last + REPORT_LINES:
            last = index
            yield lines[index : index + REPORT_LINES]


def unfinished(lines):
    """The tests and suites that have started more often than they have ended."""
    running = collections.Counter()
    for line in lines:
        if match := STARTED.match(line):
            running[match[1]] += 1
        elif match := ENDED.search(line):
            running[match[1]] -= 1
    return [name for name, count in running.items() if count > 0]


def show(title, lines):
    if lines:
        print(f"--- {title}")
        for line in lines:
            print(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} …")


def main(output, names):
    with open(output, encoding="utf-8", errors="replace") as file:
        # Not splitlines(): it would also split at other separators, which arguments of tests contain.
        lines = file.read().rstrip("\n").split("\n")
    found = list(issues(lines))
    show("what failed", found[:MOST_ISSUES])
    if len(found) > MOST_ISSUES:
        print(f"and {len(found) - MOST_ISSUES} more lines")
    seeds = [line for line in lines if SEED.match(line)]
    show("seeds", [" ".join(seeds)] if seeds else [])
    for report in list(reports(lines))[:MOST_REPORTS]:
        show("a report", report)
    open_ends = unfinished(lines)
    show("started and not ended", open_ends)
    show(f"the last {LAST_LINES} lines", lines[-LAST_LINES:])
    failed = dict.fromkeys(match[1] for line in lines if (match := FAILED.match(line)))
    with open(names, "a", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in failed)
        crashed = [name for name in open_ends if name.startswith("Test ") and name not in failed]
        file.writelines(f"{name} (did not end)\n" for name in crashed)


if len(sys.argv) != 3:
    sys.exit(__doc__)
# UTF-8, whatever the locale is.
sys.stdout.reconfigure(encoding="utf-8", errors="replace")
main(sys.argv[1], sys.argv[2])

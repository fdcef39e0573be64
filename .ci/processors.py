"""Chooses the processors for builds that run beside tests.

Usage: processors.py first COMMAND...    runs a command on the first half of the processors that it may use
       processors.py second COMMAND...   runs a command on the other half
       processors.py all PROCESS         lets a process's descendants use all processors that this command may use
"""

import os
import sys


def descendants(process):
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    found, open_ones = [], [process]
    while open_ones:
        below = children.get(open_ones.pop(), [])
        found += below
        open_ones += below
    return found


def main():
    if not hasattr(os, "sched_setaffinity"):
        processors = None
    else:
        processors = sorted(os.sched_getaffinity(0))
    if sys.argv[1] != "all":
        if processors is not None:
            # A single processor is in both halves.
            middle = len(processors) // 2
            first, second = processors[: max(1, middle)], processors[middle:]
            os.sched_setaffinity(0, first if sys.argv[1] == "first" else second)
        os.execvp(sys.argv[2], sys.argv[2:])
    if processors is None:
        return
    for process in descendants(int(sys.argv[2])):
        try:
            for thread in os.listdir(f"/proc/{process}/task"):
                os.sched_setaffinity(int(thread), processors)
        except OSError:
            # The process has ended.
            continue


main()

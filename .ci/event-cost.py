"""Checks how many allocations an event costs in a bridge, and, if there is valgrind, how many instructions.

Usage: event-cost.py [--record] [--within SECONDS] [PROGRAM]
Without PROGRAM it builds event-path in release. Compares with .ci/event-cost.json, or writes that file with --record.
Exit status 1 if an event costs more than the record and the tolerance allow. If an event costs less by more than the tolerance, the
output says so: the file is out of date.
Prints a line that begins with "not checked" for what this machine cannot measure: because it lacks something, because
the SECONDS for all runs are over, or because other processes disturb the threads of a journey.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / ".ci" / "event-cost.json"
# As users build it. The tests' -enable-testing lets the optimizer inline internal functions of other modules, and so hides what
# such a function costs.
BUILD = ["swift", "build", "-c", "release", "-debug-info-format", "none", "--scratch-path", ".build-product"]
JOURNEYS = [
    "flood",
    "flood-layout",
    "flood-recorded",
    "trips",
    "trips-recorded",
    "relay",
    "fan-out",
    "local",
    "local-recorded",
    "records",
    "codec",
]
# A journal has a thread of its own. It makes the next segment in the warm-up, and the events of a run do not fill the first one.
# So what this thread executes is the same in a short and in a long run, and cancels out.

# Batches, waits and timers allocate, too, and how many there are depends on the machine. A mistake adds one allocation for each
# event, and so two for a trip.
ALLOCATIONS_TOLERANCE = {
    "flood": 0.5,
    "flood-layout": 0.5,
    "flood-recorded": 0.5,
    "trips": 0.9,
    "trips-recorded": 0.9,
    "relay": 0.5,
    "fan-out": 0.5,
    "local": 0.1,
    "local-recorded": 0.1,
    "records": 0.1,
    "codec": 0.1,
}
# How often a thread waits differs from run to run; the least of three runs differs by 3 % at most on a quiet machine.
# Which memmove the C library picks differs from machine to machine.
INSTRUCTIONS_TOLERANCE = 0.1
# The least of several runs counts, because a thread's occasional other work only adds to the cost: of RUNS for records.
# A comparison stops at the first run within the tolerance, or after MOST_RUNS.
RUNS, MOST_RUNS = 3, 12
EVENTS = 20_000
# Instructions are counted in a short and a long run: start, warm-up and end cancel out in the difference.
FEW_EVENTS, MANY_EVENTS, WARM_UP = 1_000, 10_000, 500
# In seconds. How much of a processor one run may use: ten times what the longest needs.
LONGEST_RUN = 120
# The script looks at a run every LOOK seconds. If more than MOST_IDLE_LOOKS looks find all threads waiting, the run
# hangs. Looks are counted and not time, because a suspended machine is no hang.
LOOK, MOST_IDLE_LOOKS = 1, 60
# How long all runs together may take; .ci/run gives less if its own time is nearly over.
LONGEST = 700
# One thread does the same whatever else runs. The other journeys have several, and how many events these take at once
# depends on when the machine lets each thread run: beside other work an event may cost a fifth more.
SINGLE_THREADED = {"local", "local-recorded", "records", "codec"}
# If other processes take this share of the processors, a journey with several threads may exceed its tolerance without
# a mistake. Such load may add up to 100 % of the recorded instructions. It may raise the allocations to 1.5 times the
# tolerance above the record, which is still less than a mistake adds.
FOREIGN_SHARE, INSTRUCTIONS_BY_LOAD, ALLOCATIONS_BY_LOAD = 0.25, 1.0, 1.5


class OutOfTime(Exception):
    """The time for all runs is over."""


def fields(path):
    """What stands in a stat of /proc behind the name."""
    return path.read_text().rpartition(")")[2].split()


def wants_processor(process):
    """Whether a thread of a process runs, or would if a processor or a disk let it."""
    for thread in pathlib.Path(f"/proc/{process}/task").glob("*"):
        try:
            if fields(thread / "stat")[0] in "RD":
                return True
        except (OSError, IndexError):
            continue
    return False


def processor_seconds(process):
    try:
        return sum(map(int, fields(pathlib.Path(f"/proc/{process}/stat"))[11:13])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return 0


def foreign_seconds():
    """Processor time, on the processors that this process may use, that went to other processes or to other virtual machines (steal)."""
    try:
        ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        lines = [line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines()]
    except (OSError, AttributeError):
        return 0
    # user, nice, system, irq, softirq, steal
    ticks = sum(int(line[number]) for line in lines if line[0] in ours for number in (1, 2, 3, 6, 7, 8))
    return ticks / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def run(command, end):
    """What a command writes to its output and as errors. Exits if it fails, hangs, or takes a processor for too long."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    idle = 0
    try:
        while True:
            try:
                output, errors = process.communicate(timeout=LOOK)
                break
            except subprocess.TimeoutExpired:
                idle += not wants_processor(process.pid)
                if idle > MOST_IDLE_LOOKS:
                    sys.exit(f"{' '.join(command)} hangs: in {idle} looks all of its threads waited")
                if processor_seconds(process.pid) > LONGEST_RUN:
                    sys.exit(f"{' '.join(command)} has used a processor for {LONGEST_RUN} s and not ended")
                if time.monotonic() > end:
                    raise OutOfTime from None
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}:\n{errors[-2000:]}")
    return output, errors


def build():
    command = [*BUILD, "--product", "event-path"]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        sys.exit("event-path cannot be built")
    return ROOT / ".build-product" / "release" / "event-path"


class Cost:
    """What an event of a journey costs, in one kind; the least of several runs."""

    def __init__(self, journey, kind, recorded):
        self.journey, self.kind = journey, kind
        # None for a new record.
        self.recorded = recorded
        # None until the first run, and if this machine cannot count.
        self.value = None
        self.runs = 0
        self.is_possible = True
        # How long the runs took, and how long other processes used the processors meanwhile.
        self.seconds = self.foreign = 0

    @property
    def tolerance(self):
        return ALLOCATIONS_TOLERANCE[self.journey] if self.kind == "allocations" else self.recorded * INSTRUCTIONS_TOLERANCE

    @property
    def is_too_high(self):
        return self.value > self.recorded + self.tolerance

    @property
    def needs_run(self):
        if not self.is_possible or self.runs == 0:
            return self.is_possible
        return self.runs < RUNS if self.recorded is None else self.is_too_high and self.runs < MOST_RUNS

    def measure(self, end):
        if time.monotonic() > end:
            raise OutOfTime
        began, foreign = time.monotonic(), foreign_seconds()
        self.count(end)
        self.seconds += time.monotonic() - began
        self.foreign += foreign_seconds() - foreign
        self.runs += 1

    @property
    def most_by_load(self):
        """The highest figure that other processes alone may lead to."""
        if self.kind == "allocations":
            return self.recorded + self.tolerance * ALLOCATIONS_BY_LOAD
        return self.recorded + self.recorded * INSTRUCTIONS_BY_LOAD

    @property
    def doubt(self):
        """Why too high a figure proves nothing; None if it proves that an event costs more."""
        if self.value > self.most_by_load:
            return None
        share = self.foreign / self.seconds / processors()
        if share >= FOREIGN_SHARE and self.journey not in SINGLE_THREADED:
            return f"the machine is busy, other processes took {share:.0%} of its processors"
        if self.runs < MOST_RUNS:
            return f"there was time for {self.runs} of {MOST_RUNS} runs"
        return None


class Allocations(Cost):
    def __init__(self, program, journey, recorded):
        super().__init__(journey, "allocations", recorded)
        self.command = [program, journey, str(EVENTS)]

    def count(self, end):
        found = re.search(r"(\d+) events, (\d+|unknown) allocations", run(self.command, end)[0])
        if found is None:
            sys.exit(f"event-path {self.journey} did not say how many allocations there were")
        if found[2] == "unknown":
            self.is_possible = False
            return
        count = round(int(found[2]) / int(found[1]), 3)
        self.value = count if self.value is None else min(self.value, count)


class Instructions(Cost):
    """How many instructions the process executes for one event, without the kernel's."""

    def __init__(self, program, journey, recorded):
        super().__init__(journey, "instructions", recorded)
        self.program = program
        self.few = self.many = math.inf

    def in_all(self, events, end):
        numbers = [str(events), str(WARM_UP)]
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.program, self.journey, *numbers]
        found = re.search(r"Collected : (\d+)", run(command, end)[1])
        if found is None:
            sys.exit("valgrind did not say how many instructions there were")
        return int(found[1])

    def count(self, end):
        few, many = self.in_all(FEW_EVENTS, end), self.in_all(MANY_EVENTS, end)
        self.few, self.many = min(self.few, few), min(self.many, many)
        self.value = round((self.many - self.few) / (MANY_EVENTS - FEW_EVENTS))


def measure(program, records, end):
    """All costs, as far as there was time."""
    with tempfile.TemporaryDirectory() as directory:
        def recorded(journey, kind):
            return records.get(journey, {}).get(kind)

        # First, because they take seconds and show whether a journey hangs.
        allocations = [Allocations(str(program), journey, recorded(journey, "allocations")) for journey in JOURNEYS]
        instructions = []
        if shutil.which("valgrind") is not None and shutil.which("strip") is not None:
            # Valgrind does not know all debug information, and reading it would take longer than everything else.
            stripped = str(pathlib.Path(directory) / "event-path")
            run(["strip", "-g", "-o", stripped, str(program)], math.inf)
            # The figures that no load excuses come first.
            counted = sorted(JOURNEYS, key=lambda journey: journey not in SINGLE_THREADED)
            instructions = [Instructions(stripped, journey, recorded(journey, "instructions")) for journey in counted]
        try:
            for costs in (allocations, instructions):
                # The costs take turns, one run each. So each cost gets a run even if others need many. And a short
                # burst of other work does not disturb all runs of one journey.
                while waiting := [cost for cost in costs if cost.needs_run]:
                    for cost in waiting:
                        cost.measure(end)
        except OutOfTime:
            pass
        return allocations + instructions


def compare(costs, records):
    """Prints all costs, and says whether none of them exceeds its record by more than the tolerance."""
    is_good = True
    for cost in costs:
        if cost.recorded is None and cost.value is not None:
            where = f"{cost.journey}: {cost.value} {cost.kind} for each event"
            print(f"{where}, NOT recorded: python3 .ci/event-cost.py --record")
            is_good = False
    found = {(cost.journey, cost.kind): cost for cost in costs}
    for journey, kinds in records.items():
        for kind, recorded in kinds.items():
            cost = found.get((journey, kind))
            if cost is None or not cost.is_possible:
                print(f"not checked: {kind} of {journey}, which this machine cannot count ({recorded} recorded)")
                continue
            if cost.value is None:
                print(f"not checked: {kind} of {journey}, for which no time was left ({recorded} recorded)")
                continue
            verdict = "as recorded"
            if cost.is_too_high and cost.doubt is not None:
                print(f"not checked: {kind} of {journey}, {cost.value} where {recorded} are recorded: {cost.doubt}")
                continue
            if abs(cost.value - recorded) > cost.tolerance:
                verdict = "MORE than" if cost.is_too_high else "less than"
                verdict += f" the {recorded} recorded; if that is meant: python3 .ci/event-cost.py --record"
                is_good = is_good and not cost.is_too_high
            print(f"{journey}: {cost.value} {kind} for each event, {verdict}")
    return is_good


def record(costs):
    if not any(cost.kind == "instructions" for cost in costs):
        sys.exit("instructions cannot be recorded without valgrind and strip")
    late = [cost for cost in costs if cost.needs_run]
    if late:
        sys.exit(f"there was no time for all {RUNS} runs of {late[0].journey}: nothing is recorded")
    records = {}
    for journey in JOURNEYS:
        known = [cost for cost in costs if cost.journey == journey and cost.value is not None]
        records[journey] = {cost.kind: cost.value for cost in known}
    RECORDS.write_text(json.dumps(records, indent=4) + "\n", encoding="utf-8")
    print(RECORDS.read_text(encoding="utf-8"), end="")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--within", type=float, default=LONGEST)
    parser.add_argument("program", nargs="?")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.program) if arguments.program else build()
    records = {} if arguments.record else json.loads(RECORDS.read_text(encoding="utf-8"))
    costs = measure(program, records, time.monotonic() + arguments.within)
    if arguments.record:
        record(costs)
        return 0
    return 0 if compare(costs, records) else 1


sys.exit(main())

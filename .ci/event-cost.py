"""Checks how many allocations an event costs in a bridge, and, if there is valgrind, how many instructions.

Usage: event-cost.py [--record] [PROGRAM]
Without PROGRAM it builds event-path in release. Compares with .ci/event-cost.json, or writes that file with --record.
Exit status 1 if an event costs more than the record and the tolerance allow. If an event costs less by more than the tolerance, the
output says so: the file is out of date.
Prints a line that begins with "not checked" for what this machine cannot measure.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / ".ci" / "event-cost.json"
# As users build it. The tests' -enable-testing lets the optimizer inline internal functions of other modules, and so hides what
# such a function costs.
BUILD = ["swift", "build", "-c", "release", "-debug-info-format", "none", "--scratch-path", ".build-product"]
JOURNEYS = ["flood", "flood-layout", "flood-recorded", "trips", "trips-recorded", "relay", "fan-out", "local", "local-recorded", "codec"]
# A journal has a thread of its own, whose instructions depend on when the machine lets it run.
ALLOCATIONS_ONLY = {"flood-recorded", "trips-recorded", "local-recorded"}

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
    "codec": 0.1,
}
# How often a thread waits differs from run to run; the least of three runs differs by 3 % at most on a quiet machine.
# Which memmove the C library picks differs from machine to machine. Under valgrind an event takes so long that each
# event of a flood is written by itself, and a thread runs for so long that it reads hundreds of events at once.
INSTRUCTIONS_TOLERANCE = 0.1
# The least of several runs counts, because a thread's occasional other work only adds to the cost: of RUNS for
# allocations and records. A comparison of instructions, which takes longer, stops at the first run within the
# tolerance, or after MOST_RUNS.
RUNS, MOST_RUNS = 3, 12
EVENTS = 20_000
# Instructions are counted in a short and a long run: start, warm-up and end cancel out in the difference.
FEW_EVENTS, MANY_EVENTS, WARM_UP = 1_000, 10_000, 500
LONGEST_RUN = 120


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_RUN, check=True, **options)


def build():
    command = [*BUILD, "--product", "event-path"]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        sys.exit("event-path cannot be built")
    return ROOT / ".build-product" / "release" / "event-path"


def allocations(program, journey):
    """How many allocations one event costs; None if this machine cannot count them."""
    counts = []
    for _ in range(RUNS):
        found = re.search(r"(\d+) events, (\d+|unknown) allocations", run([program, journey, str(EVENTS)]).stdout)
        if found is None:
            sys.exit(f"event-path {journey} did not say how many allocations there were")
        if found[2] == "unknown":
            return None
        counts.append(int(found[2]) / int(found[1]))
    return round(min(counts), 3)


def instructions_in_all(program, journey, events):
    numbers = [str(events), str(WARM_UP)]
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, journey, *numbers]
    found = re.search(r"Collected : (\d+)", run(command).stderr)
    if found is None:
        sys.exit("valgrind did not say how many instructions there were")
    return int(found[1])


def instructions(program, journey, recorded):
    """How many instructions the process executes for one event, without the kernel's.

    `recorded` is what an event cost before; None for a new record.
    """
    least = RUNS if recorded is None else 1
    limit = math.inf if recorded is None else recorded + tolerance(journey, "instructions", recorded)
    few, many = [], []
    cost = math.inf
    while len(few) < least or (cost > limit and len(few) < MOST_RUNS):
        few.append(instructions_in_all(program, journey, FEW_EVENTS))
        many.append(instructions_in_all(program, journey, MANY_EVENTS))
        cost = round((min(many) - min(few)) / (MANY_EVENTS - FEW_EVENTS))
    return cost


def measure(program, records):
    costs = {}
    with tempfile.TemporaryDirectory() as directory:
        # Valgrind does not know all debug information, and reading it would take longer than everything else.
        stripped = pathlib.Path(directory) / "event-path"
        has_valgrind = shutil.which("valgrind") is not None and shutil.which("strip") is not None
        if has_valgrind:
            run(["strip", "-g", "-o", str(stripped), str(program)])
        for journey in JOURNEYS:
            cost = {"allocations": allocations(str(program), journey)}
            if has_valgrind and journey not in ALLOCATIONS_ONLY:
                recorded = records.get(journey, {}).get("instructions")
                cost["instructions"] = instructions(str(stripped), journey, recorded)
            costs[journey] = {kind: value for kind, value in cost.items() if value is not None}
    return costs


def tolerance(journey, kind, recorded):
    return ALLOCATIONS_TOLERANCE[journey] if kind == "allocations" else recorded * INSTRUCTIONS_TOLERANCE


def compare(costs, records):
    """Prints all costs, and says whether none of them exceeds its record by more than the tolerance."""
    is_good = True
    for journey, kinds in costs.items():
        for kind, cost in kinds.items():
            if kind not in records.get(journey, {}):
                print(f"{journey}: {cost} {kind} for each event, NOT recorded: python3 .ci/event-cost.py --record")
                is_good = False
    for journey, kinds in records.items():
        for kind, recorded in kinds.items():
            cost = costs.get(journey, {}).get(kind)
            if cost is None:
                print(f"not checked: {kind} of {journey}, which this machine cannot count ({recorded} recorded)")
                continue
            difference = cost - recorded
            verdict = "as recorded"
            if abs(difference) > tolerance(journey, kind, recorded):
                verdict = "MORE than" if difference > 0 else "less than"
                verdict += f" the {recorded} recorded; if that is meant: python3 .ci/event-cost.py --record"
                is_good = is_good and difference < 0
            print(f"{journey}: {cost} {kind} for each event, {verdict}")
    return is_good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("program", nargs="?")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.program) if arguments.program else build()
    records = {} if arguments.record else json.loads(RECORDS.read_text(encoding="utf-8"))
    try:
        costs = measure(program, records)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd))} ended with status {error.returncode}:\n{error.stderr[-2000:]}")
    if arguments.record:
        if not any("instructions" in kinds for kinds in costs.values()):
            sys.exit("instructions cannot be recorded without valgrind and strip")
        RECORDS.write_text(json.dumps(costs, indent=4) + "\n", encoding="utf-8")
        print(RECORDS.read_text(encoding="utf-8"), end="")
        return 0
    return 0 if compare(costs, records) else 1


sys.exit(main())

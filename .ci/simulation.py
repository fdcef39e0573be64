"""Checks the simulation itself: a seed has to give the same run in every process, and known mistakes have to be found.

Usage: simulation.py digests COMMAND...
       simulation.py mutants [NAME...]
       simulation.py patches
`digests` runs COMMAND twice, which runs the tests, and compares the digests that both print.
`mutants` puts each patch of .ci/mutants into a copy of this checkout, builds it, and runs the scenario that the patch
names until a seed fails. Prints the seed, and how many choices the shrunk failure has. Not in CI: each takes a build.
`patches`, which CI runs, checks that each patch fits this checkout and names an existing scenario.
Exit status 1 if two runs of a seed differ, a mutant is not found, or a patch no longer fits.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MUTANTS = ROOT / ".ci" / "mutants"
TREE = ROOT / ".build-mutants" / "tree"
SCRATCH = ROOT / ".build-mutants" / "products"
# 50 times the 20 seeds of a test.
ROUNDS = "50"
LONGEST_RUN = 900


def digests(command):
    runs = []
    for _ in range(2):
        environment = {**os.environ, "EVENT_BRIDGE_DIGESTS": "1"}
        result = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_RUN, env=environment)
        runs.append(sorted(set(re.findall(r"^digest .*$", result.stdout, re.MULTILINE))))
    first, second = runs
    if not first:
        sys.exit("no run has said what it came to")
    differing = sorted(set(first) ^ set(second))
    print(f"{len(first)} runs in each of two processes, {len(differing) // 2} of them not the same")
    print("\n".join(differing[:20]))
    return 1 if differing else 0


def copy_tree():
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    for name in files:
        source, copy = ROOT / name, TREE / name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for copy in [path for path in TREE.rglob("*") if path.is_file()]:
        if str(copy.relative_to(TREE)) not in files:
            copy.unlink()


def build():
    command = ["swift", "build", "--build-tests", "--scratch-path", str(SCRATCH)]
    environment = {**os.environ, "EVENT_BRIDGE_TARGETS": "SimulationTests"}
    return subprocess.run(command, cwd=TREE, capture_output=True, text=True, env=environment)


def find(scenario):
    """The match of the first failure's lines, or None."""
    command = ["swift", "test", "--skip-build", "--scratch-path", str(SCRATCH)]
    command += ["--filter", "BridgeSimulationTests/faults"]
    environment = {
        **os.environ,
        "EVENT_BRIDGE_TARGETS": "SimulationTests",
        "EVENT_BRIDGE_SCENARIOS": scenario,
        "EVENT_BRIDGE_TEST_ROUNDS": ROUNDS,
    }
    result = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=LONGEST_RUN, env=environment)
    # A deadlock's reason has a line for each thread.
    failure = r"seed (\d+) failed: (.*)\n(?:  .*\n)*after .*?(\d+) choices → shrunk to (\d+)"
    return re.search(failure, result.stdout + result.stderr)


def scenario(patch):
    return re.search(r"^Scenario: (\w+)$", patch.read_text(encoding="utf-8"), re.MULTILINE)[1]


def mutants(names):
    patches = sorted(MUTANTS.glob("*.patch"))
    if names:
        patches = [patch for patch in patches if patch.stem in names]
    missed = []
    for patch in patches:
        copy_tree()
        subprocess.run(["patch", "-p1", "--silent", "-i", str(patch)], cwd=TREE, check=True)
        built = build()
        if built.returncode != 0:
            sys.exit(f"{patch.stem} cannot be built:\n{built.stdout[-2000:]}")
        found = find(scenario(patch))
        if found is None:
            missed.append(patch.stem)
            print(f"| {patch.stem} | {scenario(patch)} | not found | | |", flush=True)
        else:
            seed, reason, before, after = found.groups()
            print(f"| {patch.stem} | {scenario(patch)} | {seed} | {before} → {after} | {reason[:100]} |", flush=True)
    return 1 if missed else 0


def patches():
    tests = (ROOT / "Tests" / "SimulationTests").glob("*.swift")
    scenarios = "".join(path.read_text(encoding="utf-8") for path in tests)
    misfits = []
    for patch in sorted(MUTANTS.glob("*.patch")):
        command = ["git", "-c", f"safe.directory={ROOT}", "apply", "--check", str(patch)]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if result.returncode != 0:
            misfits.append(f"{patch.name} fits no more: {result.stderr.strip()}")
        if f'("{scenario(patch)}", ' not in scenarios:
            misfits.append(f"{patch.name} names no scenario that there is")
    print("\n".join(misfits), end="\n" if misfits else "")
    return 1 if misfits else 0


def main():
    match sys.argv[1:]:
        case ["digests", *command] if command:
            return digests(command)
        case ["mutants", *names]:
            return mutants(names)
        case ["patches"]:
            return patches()
    sys.exit(__doc__)


sys.exit(main())

"""Checks that the configuration's schema, its page and what the supervisor accepts agree.

Usage: configuration.py page                 writes docs/reference/configuration.md anew from the schema
       configuration.py check                exit status 1 if the page is not as `page` would write it
       configuration.py compare SUPERVISOR   exit status 1 if schema and `supervisor check` differ

`compare` makes documents for each key of the schema, with values on either side of each limit, with values of other
types, and with keys that do not exist. It checks each document with the schema and with the supervisor. The schema's
`x-least` and `x-most` are limits of durations and sizes, which JSON Schema cannot express; `x-names` says for the page
what the keys of an object name.
"""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs/reference/configuration.schema.json"
PAGE = ROOT / "docs/reference/configuration.md"

UNITS = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9},
    **{"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    **{"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
}

# --- What the schema says


def quantity(text):
    """A duration in nanoseconds or a size in bytes; None if that is no whole number."""
    number, point, unit = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))? ?([A-Za-z]+)", text).groups()
    digits = number + (point or "")
    whole, rest = divmod(int(digits) * UNITS[unit], 10 ** len(point or ""))
    return None if rest else whole


def takes(schema, value):
    """Whether a schema accepts a value. Knows only the keywords that our schema uses."""
    checks = {
        "type": lambda kind: isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)),
        "enum": lambda words: value in words,
        "const": lambda word: value == word,
        "not": lambda other: not takes(other, value),
        "anyOf": lambda others: any(takes(other, value) for other in others),
        "minimum": lambda least: value >= least,
        "maximum": lambda most: value <= most,
        "minLength": lambda least: len(value) >= least,
        "maxLength": lambda most: len(value) <= most,
        "pattern": lambda pattern: re.search(pattern.replace("$", r"\Z"), value),
        "minItems": lambda least: len(value) >= least,
        "items": lambda item: all(takes(item, each) for each in value),
        "uniqueItems": lambda _: len(set(value)) == len(value),
        "required": lambda keys: all(key in value for key in keys),
        "propertyNames": lambda names: all(takes(names, key) for key in value),
        "properties": lambda known: all(takes(known[key], value[key]) for key in value if key in known),
        "additionalProperties": lambda other: all(
            other is not False and takes(other, value[key]) for key in value if key not in schema.get("properties", {})
        ),
        "x-least": lambda least: amount(value) is not None and amount(value) >= quantity(least),
        "x-most": lambda most: amount(value) is not None and amount(value) <= quantity(most),
    }
    # In this order, because later checks rely on the check of the type.
    return all(checks[word](schema[word]) for word in checks if word in schema)


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}


def amount(value):
    return value if isinstance(value, int) else quantity(value)


# --- The page

HEAD = """# The configuration

<!-- Written by `.ci/configuration.py page` from configuration.schema.json. -->

This page lists every key of the configuration file that `supervisor run` and `supervisor check` read. The file is
[JSON5](https://json5.org): comments, unquoted keys and trailing commas are allowed. An unknown key is an error; its
message suggests a known key with a similar name, or lists all known keys if no name is similar.

A *duration* is a string of a number and a unit, such as `"100ms"`; the units are `ns`, `us`, `ms`, `s`, `m` and `h`. A
*size* is a number of bytes, or a string of a number and a unit, such as `"4MiB"`; the units are `B`, `kB`, `MB`, `GB`,
`TB`, `KiB`, `MiB`, `GiB` and `TiB`. Relative paths start at the configuration's directory, unless the key says
otherwise. Where a table names no default, a key that is left out sets nothing: for example, no limit.

This page is generated from [a JSON schema](configuration.schema.json). If a configuration names this schema, an editor
that knows JSON schemas completes and checks the configuration's keys. This configuration names it:

```json5
{ "$schema": "docs/reference/configuration.schema.json", workers: [{ name: "canvas", executable: "canvas-worker" }] }
```

`supervisor check` also finds mistakes that a schema cannot describe: keys that contradict each other, duplicate names,
missing programs.
"""

SECTIONS = [
    ("The top level", (), "These are the keys of the file's outermost object. `workers` is required."),
    (
        "The journal",
        ("journal",),
        "These keys stand under `journal`; `directory` and `events` are required. The guide explains\n"
        "[the journal of a supervisor](../guide/journals.md#in-a-supervisor).",
    ),
    ("A worker", ("workers", 0), "Each object in `workers` has these keys; `name` and `executable` are required."),
    (
        "A worker's limits",
        ("workers", 0, "limits"),
        "These keys stand under a worker's `limits`. The operating system enforces `memory` and the keys after it for\n"
        "each process of the worker.",
    ),
    (
        "A worker's box",
        ("workers", 0, "box"),
        "These keys stand under a worker's `box`; [security](security.md#the-box) says what a box refuses. Without\n"
        "`readOnly` and `writable` a box restricts no files.",
    ),
]


def at(path):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for step in path:
        schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
    return schema


def listed(parts):
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), parts[-1]])


def kind(schema):
    """Says in words what a value may be."""
    if "enum" in schema:
        return ", ".join(f"`\"{word}\"`" for word in schema["enum"])
    if "x-least" in schema:
        what = "a duration" if schema.get("type") == "string" else "a size"
        return f"{what} from `{schema['x-least']}` to `{schema['x-most']}`"
    if "anyOf" in schema:
        return ", or ".join(kind(each) for each in schema["anyOf"])
    match schema["type"]:
        case "integer":
            return f"an integer from {schema['minimum']} to {schema['maximum']}"
        case "boolean":
            return "`true` or `false`"
        case "array":
            return "an array of " + ("strings" if schema["items"]["type"] == "string" else "workers")
        case "object" if "properties" in schema:
            members = schema["properties"]
            if len(members) > 3:
                return "an object"
            return "an object with " + listed([f"`{key}` ({kind(member)})" for key, member in members.items()])
        case "object":
            return f"an object that maps each {schema['x-names']} name to " + kind(schema["additionalProperties"])
    return "a string"


def defaults(schema):
    if "default" in schema:
        return f"`{json.dumps(schema['default'])}`"
    members = {key: each["default"] for key, each in schema.get("properties", {}).items() if "default" in each}
    if not members or len(schema["properties"]) > 3:
        return ""
    return "`{ " + ", ".join(f"{key}: {json.dumps(value)}" for key, value in members.items()) + " }`"


def page():
    text = HEAD
    for title, path, sentence in SECTIONS:
        text += f"\n## {title}\n\n{sentence}\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
        for key, schema in at(path)["properties"].items():
            text += f"| `{key}` | {kind(schema)} | {defaults(schema)} | {schema['description']} |\n"
    return text


# --- The supervisor

# Other keys that a key needs beside it, because it is refused without them.
BESIDE = {
    ("box", "connections"): {"box": {"network": False}},
    ("onDemand",): {"subscribes": ["A"]},
    ("pool",): {"subscribes": ["A"]},
    ("significant",): {"restart": "transient"},
    ("backoff",): {"backoff": {"initial": "1ms", "maximum": "168h"}},
    ("restart",): {},
}


def samples(schema):
    """Values on either side of a schema's limits, and values far from anything that it accepts."""
    yield from [None, True, False, 0, 1, -1, 1.5, 2**63, 2**64, "", "x", "\0", " ", "host", "a" * 64, "a" * 65]
    yield from ["input", "client-1", "client-", "client-x", "*", "a" * 256, "a" * 257]
    yield from ["5", "5 ms", "1.5s", "0.5ns", "5 parsecs", "007", "-1"]
    yield from [[], ["a"], ["a", "a"], [""], [1], {}, {"unknown": 1}, {"a": "b"}, {"": "b"}, {"a": 1}, {"*": "b"}]
    yield from [{"EVENT_BRIDGE_X": "b"}, {"a=b": "c"}, {"a\0": "c"}, {"a": "c\0"}]
    yield from [{"a" * 256: "fail"}, {"a" * 257: "fail"}]
    for word in ("minimum", "maximum"):
        if word in schema:
            yield from (schema[word] + step for step in (-1, 0, 1))
            yield str(schema[word])
    for word in ("x-least", "x-most"):
        if word in schema:
            yield schema[word]
            for step in (-1, 0, 1):
                number = quantity(schema[word]) + step
                yield from [number, f"{number}B", f"{number}ns"]
    for word in schema.get("enum", []):
        yield from [word, word + "x", {"A": word}, {word: "A"}]
    for other in schema.get("anyOf", []):
        yield from samples(other)
    if "properties" in schema:
        yield from ({key: value} for key, each in schema["properties"].items() for value in samples(each))
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict) and "properties" not in schema[word]:
            for value in samples(schema[word]):
                yield from [[value], {"A": value}, {"*": value}]


def merged(one, other):
    both = dict(one)
    for key, value in other.items():
        is_deep = isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = merged(both[key], value) if is_deep else value
    return both


def documents():
    worker = {"name": "a", "executable": "/bin/sh"}
    root = at(())
    yield from [{}, {"workers": [worker], "unknown": 1}]
    for key, schema in root["properties"].items():
        significant = {"restart": "transient", "significant": True} if key == "automaticShutdown" else {}
        beside = {"workers": [worker | significant]}
        yield from (beside | {key: value} for value in samples(schema))
    journal = {"directory": "journal", "events": ["A"], "durability": "machine", "within": "1s"}
    for key, schema in at(("journal",))["properties"].items():
        # A time for what is not done is no setting.
        beside = journal if key != "durability" else {each: journal[each] for each in ("directory", "events")}
        yield from ({"workers": [worker], "journal": beside | {key: value}} for value in samples(schema))
    for key, schema in at(("workers", 0))["properties"].items():
        for value in samples(schema):
            yield within(worker, (key,), value)
        yield {"workers": [{each: worker[each] for each in worker if each != key}]}
    yield within(worker, ("unknown",), 1)
    for group in ("limits", "box"):
        for key, schema in at(("workers", 0, group))["properties"].items():
            yield from (within(worker, (group, key), value) for value in samples(schema))


def within(worker, path, value):
    """A document with one worker that has a value at a path, and the keys that this value needs beside it."""
    changed = merged(worker, BESIDE.get(path, {}))
    if path == ("backoff",) and isinstance(value, dict):
        value = merged(changed["backoff"], value)
    changed = merged(changed, {path[0]: value} if len(path) == 1 else {path[0]: {path[1]: value}})
    shutdown = {"automaticShutdown": "any-significant"} if path == ("significant",) and value is True else {}
    return {"workers": [changed]} | shutdown


# Parts of the sentences for mistakes that no schema can find: about keys that depend on each other, and about files.
BEYOND = [
    "there is no directory", "found a path of", "there is no file", "there is no program", "expected a program", "expected whole seconds",
    "expected one of the events that", "found true without an automatic shutdown", "found a key that has no effect",
]


def known_keys(path, said):
    """The keys that the supervisor lists when it finds `unknown` there."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in (*path, "unknown")).lstrip(".")
    found = re.search(rf": {re.escape(place)}: unknown key \"unknown\"; known here are (.*)", said)
    return found[1].split(", ") if found else []


def compare(supervisor):
    cases = {json.dumps(document, sort_keys=True): document for document in documents()}
    with tempfile.TemporaryDirectory() as directory:

        def answer(numbered):
            number, text = numbered
            file = pathlib.Path(directory) / f"{number}.json"
            file.write_text(text, encoding="utf-8")
            ended = subprocess.run([supervisor, "check", file], capture_output=True, text=True, timeout=60)
            return text, ended.returncode == 0, ended.stdout + ended.stderr

        with concurrent.futures.ThreadPoolExecutor() as threads:
            answers = list(threads.map(answer, enumerate(cases)))
    root = at(())
    taken, differences = 0, []
    for text, is_taken, said in answers:
        taken += is_taken
        if is_taken != bool(takes(root, cases[text])) and not any(sentence in said for sentence in BEYOND):
            differences.append(f"{text}\n  schema: {'refused' if is_taken else 'taken'}; supervisor: {said.strip()}")
    for _, path, _ in SECTIONS:
        known = {name for _, _, said in answers for name in known_keys(path, said)}
        described = set(at(path)["properties"])
        if known != described:
            differences.append(f"{path}: the supervisor knows {sorted(known)}, the schema {sorted(described)}")
    print("\n".join(differences[:20]), end="\n" if differences else "")
    count = f"{len(differences)} differences between schema and supervisor"
    print(f"{len(answers)} configurations, {taken} of them taken: {count}")
    return 1 if differences or taken < 100 else 0


match sys.argv[1:]:
    case ["page"]:
        PAGE.write_text(page(), encoding="utf-8")
    case ["check"]:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(f"{PAGE.relative_to(ROOT)} is not what the schema says: run .ci/configuration.py page")
    case ["compare", supervisor]:
        sys.exit(compare(supervisor))
    case _:
        sys.exit(__doc__)

"""An event that a request publishes. The host would end the worker for a wrong line, so the event is checked here."""

import json
import math

from request import Refusal

LONGEST_NAME, DEEPEST, LEAST_INTEGER, GREATEST_INTEGER = 256, 48, -(2**63), 2**64 - 1


def parsed(body):
    """The name and the data of an event: `{"type": "A", "data": {…}}`."""
    try:
        event = json.loads(body.decode(), object_pairs_hook=distinct, parse_constant=refused)
        check(event, DEEPEST)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is no event: {error}") from error
    name, data = (event.get("type"), event.get("data", {})) if isinstance(event, dict) else (None, None)
    if not isinstance(name, str) or not 1 <= len(name.encode()) <= LONGEST_NAME or name == "*":
        raise Refusal(400, f"type: expected a name of 1 to {LONGEST_NAME} bytes")
    if not isinstance(data, dict):
        raise Refusal(400, "data: expected an object")
    return name, data


def distinct(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def refused(constant):
    raise ValueError(f"{constant} is no JSON")


def check(value, depth):
    """Raises a ValueError for a value that a line cannot hold."""
    if depth == 0:
        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            check(key, depth)
            check(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            check(inner, depth - 1)
    elif isinstance(value, str):
        # Half of a surrogate pair is no text.
        value.encode()
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a number is too large")
    elif isinstance(value, int) and not LEAST_INTEGER <= value <= GREATEST_INTEGER:
        raise ValueError("an integer has more than 64 bits")

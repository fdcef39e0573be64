"""Lists lines that compute with a peer's number, or convert it, before a check.

`UntrustedNumber` has no arithmetic. Code reads its bits with `asWritten`, to compare, look up, show, store or pass on
the number. The parts of an event's identity are a peer's numbers, too; code only compares and looks them up.

Usage: peer-numbers.py DIRECTORY...
Exit status 1 if there is such a line.
"""

import pathlib
import re
import sys

# A value that a peer has chosen, with the names in front of it.
RAW = r"(?:\w+[?!]?\.)*asWritten\b"
IDENTITY = r"(?:\w+[?!]?\.)*(?:id|cause|root|eventID)[?!]?\.(?:number|incarnation)\b"
READ = r"\breadUnsigned\(\)"
VALUE = rf"(?:{RAW}|{IDENTITY}|{READ})"
OPERATOR = r"(?:[-+*/%]|<<|>>|&[-+*])=?"
# An operator after or before the value, with the formatter's blanks: neither an arrow nor a range counts.
COMPUTED = re.compile(rf"{VALUE}\)? {OPERATOR} |[\w)\]] {OPERATOR} \(?{VALUE}")
CONVERTED = re.compile(rf"\bU?Int(?:8|16|32|64)?\({VALUE}\)")
FOUND = (COMPUTED, CONVERTED)

BAD = (
    "let next = head.sequence.asWritten + 1",
    "total += 1 + frame.count.asWritten",
    "limit - gap.count.asWritten",
    "let length = Int(placed.length.asWritten)",
    "let next = context.id.number + 1",
    "let next = try reader.readUnsigned() * 2",
    "let low = UInt32(context.id.incarnation)",
    "let double = number.asWritten &* 2",
    "let half = (x.asWritten) / 2",
)
GOOD = (
    "sequence: head.sequence.asWritten,",
    "let count = Int(clamping: gap.count.asWritten)",
    "let range = $0.lowerBound.asWritten...$0.upperBound.asWritten",
    "guard left.asWritten < right.asWritten else { return }",
    "writer.unsigned(id.number)",
    "let (sum, overflow) = asWritten.addingReportingOverflow(other.asWritten)",
    "case .number(let number): .number(try reader.readUnsigned())",
    'id = "\\(context.id.number)-\\(context.id.incarnation)"',
)


def is_found(line):
    code = line.split("//")[0]
    return any(pattern.search(code) for pattern in FOUND)


def main(directories):
    for line in BAD:
        assert is_found(line), f"not found: {line}"
    for line in GOOD:
        assert not is_found(line), f"found: {line}"
    status = 0
    for directory in directories:
        for path in sorted(pathlib.Path(directory).rglob("*.swift")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                if is_found(line):
                    print(f"{path}:{number}: a peer's number is computed with or converted: {line.strip()}")
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

/// Durations and sizes in a configuration.
extension ConfigurationValue {
    /// The duration in a string such as `"5s"`.
    package func duration(in range: ClosedRange<Duration>, example: String = "5s") -> Duration? {
        guard case .string(let text) = node.value, !text.isEmpty else {
            reportType(expected: "a string such as \(JSONEscaping.quoted(example))")
            return nil
        }
        switch DurationText.parse(text) {
        case .expected(let expected):
            report("found \(found), expected \(expected)")
            return nil
        case .duration(let duration):
            guard range.contains(duration) else {
                let lowest = DurationText.text(range.lowerBound)
                report("found \(found), expected from \(lowest) to \(DurationText.text(range.upperBound))")
                return nil
            }
            return duration
        }
    }

    /// The size in a string such as `"4MiB"`, or in a plain number of bytes.
    package func byteCount(in range: ClosedRange<Int>, example: String = "4MiB") -> Int? {
        let count: Int?
        switch node.value {
        case .unsigned(let number):
            count = Int(exactly: number)
        case .negative:
            count = nil
        case .string(let text) where !text.isEmpty:
            switch ByteCountText.parse(text) {
            case .bytes(let bytes):
                count = bytes
            case .expected(let expected):
                report("found \(found), expected \(expected)")
                return nil
            }
        default:
            reportType(expected: "a size such as \(JSONEscaping.quoted(example)) or a number of bytes")
            return nil
        }
        guard let count, range.contains(count) else {
            let lowest = ByteCountText.text(range.lowerBound)
            report("found \(found), expected from \(lowest) to \(ByteCountText.text(range.upperBound))")
            return nil
        }
        return count
    }
}

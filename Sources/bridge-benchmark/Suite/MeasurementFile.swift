import BridgePlatform

/// A file of JSON lines that an earlier run has written.
enum MeasurementFile {
    /// The largest file that is read, in bytes.
    private static let greatestSize = 64 << 20

    static func read(_ path: String) throws(MeasurementError) -> [Measurement] {
        let measurements = try parse(text(of: path), file: path)
        if measurements.isEmpty { throw MeasurementError("\(path) has no measurements") }
        return measurements
    }

    static func parse(_ text: String, file: String) throws(MeasurementError) -> [Measurement] {
        var measurements: [Measurement] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            do throws(MeasurementError) {
                measurements.append(try Measurement(line: String(line)))
            } catch {
                throw MeasurementError("\(file):\(index + 1): \(error)")
            }
        }
        return measurements
    }

    private static func text(of path: String) throws(MeasurementError) -> String {
        var bytes: [UInt8] = []
        do throws(SystemFileError) {
            let file = try SystemFile.open(reading: path)
            while true {
                let more = try file.read(upTo: 1 << 16)
                if more.isEmpty { break }
                bytes += more
                if bytes.count > greatestSize { break }
            }
        } catch {
            throw MeasurementError("\(path) cannot be read: \(error)")
        }
        guard bytes.count <= greatestSize else {
            throw MeasurementError("found more than \(greatestSize) bytes in \(path), expected measurements")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

import CBOR
import JSONText

/// One printed line of a work: the peer, the work, and figures.
struct Measurement: Equatable {
    let peer: String
    let work: String
    /// The figures in the order of the line.
    let figures: [Figure]
    /// The line itself.
    let text: String

    struct Figure: Equatable {
        let name: String
        let value: Double
    }

    /// Reads a JSON line.
    ///
    /// - Throws: A sentence with what was found and what was expected, without the place of the line.
    init(line: String) throws(MeasurementError) {
        let node: JSONNode
        do throws(JSONError) {
            node = try JSONReader().read(line)
        } catch {
            throw MeasurementError(error.message)
        }
        guard case .object(let members) = node.value else {
            throw MeasurementError("found \(ShownValue.text(node)), expected an object")
        }
        peer = try Self.text("peer", in: node)
        work = try Self.text("work", in: node)
        figures = members.compactMap { member in
            switch member.node.value {
            case .unsigned(let number): Figure(name: member.key, value: Double(number))
            case .number(let number): Figure(name: member.key, value: number)
            default: nil
            }
        }
        text = line
    }

    private static func text(_ key: String, in node: JSONNode) throws(MeasurementError) -> String {
        guard let member = node[key] else { throw MeasurementError("found no \"\(key)\"") }
        guard case .string(let text) = member.value else {
            throw MeasurementError("\"\(key)\" is \(ShownValue.text(member)), expected a string")
        }
        return text
    }
}

/// Why a line, a file or a work's process gives no measurement, or why a measurement cannot be written.
struct MeasurementError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

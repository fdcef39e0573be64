import CBOR

/// A JSON object in a line, made member by member.
struct JSONLine {
    private var members: [CBORValue.Entry] = []

    /// Adds a member; adds nothing if `value` is nil.
    mutating func add(_ key: String, _ value: CBORValue?) {
        if let value { members.append(.init(key: .text(key), value: value)) }
    }

    var text: String { ReportJSON.text(CBORValue.map(members)) }
}

/// Who takes part in a run: the host and its two workers.
package enum Party: UInt8, CaseIterable, Sendable {
    case host
    case a
    case b

    /// The name under which it offers events.
    package var name: String {
        switch self {
        case .host: "host"
        case .a: "a"
        case .b: "b"
        }
    }

    package init?(name: String) {
        guard let party = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = party
    }
}

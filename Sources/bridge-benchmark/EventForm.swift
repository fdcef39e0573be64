/// How the small event gets from values to bytes and back.
enum EventForm: String {
    /// By its `Codable` conformance.
    case codable
    /// By an `EventLayout`, the opt-in fast path.
    case layout

    /// The name under which measurements stand beside those of others.
    var peer: String {
        switch self {
        case .codable: "event-bridge"
        case .layout: "event-bridge-layout"
        }
    }
}

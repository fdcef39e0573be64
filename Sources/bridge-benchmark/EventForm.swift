/// How the small event is turned into bytes and back.
enum EventForm: String {
    /// By its `Codable` conformance.
    case codable
    /// By an `EventLayout`, the opt-in fast path.
    case layout

    /// The name of this form's measurements beside those of others.
    var peer: String {
        switch self {
        case .codable: "event-bridge"
        case .layout: "event-bridge-layout"
        }
    }
}

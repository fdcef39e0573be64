/// The way in which the small event is turned into bytes and back.
enum EventForm: String {
    /// By its `Codable` conformance.
    case codable
    /// By an `EventLayout`, the opt-in fast path.
    case layout

    /// The name of the peer in this form's measurements.
    var peer: String {
        switch self {
        case .codable: "event-bridge"
        case .layout: "event-bridge-layout"
        }
    }
}

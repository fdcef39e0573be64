/// A change of a connection to the broker.
enum ConnectionChange: Sendable {
    case connected
    /// There is no connection yet, as the text explains; the next attempt follows.
    case failed(String)
    case disconnected
    /// There will be no connection any more: the broker refuses the credentials, or an address is unusable.
    case closed(String)
}

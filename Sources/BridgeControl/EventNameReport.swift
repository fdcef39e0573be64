/// The processes that want and publish the events of one name, as far as a host knows them.
public struct EventNameReport: Sendable, Hashable, Codable {
    /// The most processes that ``wantedBy`` and ``publishedBy`` each have.
    public static let mostProcesses = 100

    /// The name of the events.
    public var name: String
    /// The processes that want the events: workers, pools, `host`, and clients that have asked for the name.
    public var wantedBy: [String]
    /// The workers and pools that publish the events, according to their specifications.
    public var publishedBy: [String]

    /// Makes a report.
    public init(name: String, wantedBy: [String] = [], publishedBy: [String] = []) {
        self.name = name
        self.wantedBy = wantedBy
        self.publishedBy = publishedBy
    }
}

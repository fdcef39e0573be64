/// What a host knows of the events of one name.
public struct EventNameReport: Sendable, Hashable, Codable {
    /// A report names at most this many processes on each side.
    public static let mostProcesses = 100

    /// The name of the events.
    public var name: String
    /// The processes that want them: workers, pools, `host`, and clients that have asked for the name.
    public var wantedBy: [String]
    /// The workers and pools whose specification says that they publish them.
    public var publishedBy: [String]

    /// Makes a report.
    public init(name: String, wantedBy: [String] = [], publishedBy: [String] = []) {
        self.name = name
        self.wantedBy = wantedBy
        self.publishedBy = publishedBy
    }
}

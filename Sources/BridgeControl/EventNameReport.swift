/// What a host knows of the events of one name.
public struct EventNameReport: Sendable, Hashable, Codable {
    /// At most this many processes are told on each side.
    public static let mostProcesses = 100

    /// The name of the events.
    public var name: String
    /// Who wants them: workers, pools, `host`, and clients that have asked for the name.
    public var wantedBy: [String]
    /// The workers and pools that say in their specification that they publish them.
    public var publishedBy: [String]

    /// Makes a report.
    public init(name: String, wantedBy: [String] = [], publishedBy: [String] = []) {
        self.name = name
        self.wantedBy = wantedBy
        self.publishedBy = publishedBy
    }
}

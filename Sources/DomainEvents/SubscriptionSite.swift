/// Where a handler was subscribed; messages about a handler that threw or has not returned name this place.
public struct SubscriptionSite: Hashable, Sendable, CustomStringConvertible {
    private let file: StaticString
    private let line: UInt

    package init(file: StaticString, line: UInt) {
        self.file = file
        self.line = line
    }

    /// Module, file and line: `Warehouse/BoxPresenter.swift:12`.
    public var description: String { "\(file):\(line)" }

    /// Sites are equal when their files and their lines are equal.
    public static func == (left: SubscriptionSite, right: SubscriptionSite) -> Bool {
        left.line == right.line && left.file.description == right.file.description
    }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(line)
        hasher.combine(file.description)
    }
}

/// Where a handler was subscribed, so that a person can be told which one threw or is not done.
public struct SubscriptionSite: Hashable, Sendable, CustomStringConvertible {
    private let file: StaticString
    private let line: UInt

    package init(file: StaticString, line: UInt) {
        self.file = file
        self.line = line
    }

    /// Module, file and line: `Warehouse/BoxPresenter.swift:12`.
    public var description: String { "\(file):\(line)" }

    /// Sites are equal when file and line are.
    public static func == (left: SubscriptionSite, right: SubscriptionSite) -> Bool {
        left.line == right.line && left.file.description == right.file.description
    }

    /// Hashes file and line.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(line)
        hasher.combine(file.description)
    }
}

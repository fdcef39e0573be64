public import BridgeControl

// The small half of Foundation is a module of its own where it exists; elsewhere there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a process is not attached to a host.
public struct BridgeClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// No process listens at the path, or this user may not go there.
        case unreachable
        /// Another user listens there.
        case notTrusted
        /// The host does not accept this client: they have no version of the protocol in common.
        case rejected
        /// So many processes are attached, or about to be, that there is no room for this one; it may try again.
        case crowded
        /// The host said nothing in time.
        case timedOut
        /// The link ended before the host had accepted the client, or before it had answered.
        case linkEnded
        /// The host, or the program that contains it, did not do what the client asked for.
        case refused
        /// The client was closed.
        case closed
        /// The operating system refused something that a client cannot do without.
        case system
    }

    /// The kind of failure.
    public let code: Code

    /// What went wrong, in a sentence.
    public let description: String

    /// How the host was, if it has told.
    ///
    /// A client can still look at a host with which it has no version of the protocol in common. What this library does
    /// not know of the report is left out. Only with ``Code/rejected``.
    public let report: BridgeReport?

    package init(_ code: Code, _ description: String, report: BridgeReport? = nil) {
        self.code = code
        self.description = description
        self.report = report
    }
}

/// The same sentence for a program that shows errors by their `localizedDescription`.
extension BridgeClientError: LocalizedError {
    /// What ``BridgeClientError/description`` says.
    public var errorDescription: String? { description }
}

public import BridgeControl

// FoundationEssentials is the small half of Foundation; where it does not exist, there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a process is not attached to a host, or why a command was not done.
public struct BridgeClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// No connection to the path: no process listens there, this user has no access, or the system refuses it.
        case unreachable
        /// A process of another user, and not of root, listens at the path.
        case notTrusted
        /// The host does not accept this client: they have no version of the protocol in common, or this process
        /// belongs to a worker that may not attach.
        case rejected
        /// As many processes as the host allows are attached, or about to be; the caller may try again.
        case crowded
        /// The host did not answer in time.
        case timedOut
        /// The link ended before the host had accepted the client or answered a command, or a command found no link.
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

    /// The status that the host has sent with a rejection; nil if it has sent none.
    ///
    /// So a client can show the status of a host with which it has no version of the protocol in common. The report
    /// leaves out what this library does not know. Only an error with ``Code/rejected`` has a report.
    public let report: BridgeReport?

    package init(_ code: Code, _ description: String, report: BridgeReport? = nil) {
        self.code = code
        self.description = description
        self.report = report
    }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension BridgeClientError: LocalizedError {
    /// What ``BridgeClientError/description`` says.
    public var errorDescription: String? { description }
}

import BridgePlatform

// FoundationEssentials is the small half of Foundation; where it does not exist, there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a worker could not do its work.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The program was not started by a supervisor, or `serve()` was called outside the tasks of a worker's body.
        case notStartedBySupervisor
        /// The link that the supervisor passed on cannot be used.
        case unusableLink
        /// The supervisor does not accept this worker.
        case rejected
        /// The link ended before the worker was asked to stop, or because one side broke the protocol.
        case linkEnded
        /// The operating system refused something that a worker cannot do without.
        case system
    }

    /// The kind of failure.
    public let code: Code

    /// What went wrong, in a sentence.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// The worker could not begin, for lack of a thread or a descriptor.
    init(_ error: SystemError) {
        self.init(.system, "the worker cannot begin: \(error)")
    }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension WorkerError: LocalizedError {
    /// What ``WorkerError/description`` says.
    public var errorDescription: String? { description }
}

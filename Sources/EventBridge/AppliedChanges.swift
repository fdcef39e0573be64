// FoundationEssentials is the small half of Foundation; where it does not exist, there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What ``BridgeHost/apply(_:finishingWithin:)`` has done about each worker; the name of a pool stands for its members.
public struct AppliedChanges: Sendable, Hashable {
    /// A change that has failed, and why.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The worker, or the member of a pool, that the failure is about.
        public let worker: String

        /// What has happened, as a sentence that names the worker.
        public let description: String
    }

    /// The new workers, in their order, including those that are in ``failures``.
    public var started: [String] = []

    /// The workers that were removed: they have ended, and unhandled events are dead letters, if there was room.
    public var stopped: [String] = []

    /// The workers that now have their new specification; a worker that is down uses it at its next start.
    public var replaced: [String] = []

    /// The workers that were left alone: the same processes do their work.
    public var unchanged: [String] = []

    /// The changes that have failed: workers that have not become ready, or that were not replaced.
    public var failures: [Failure] = []
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension AppliedChanges.Failure: LocalizedError {
    /// What ``AppliedChanges/Failure/description`` says.
    public var errorDescription: String? { description }
}

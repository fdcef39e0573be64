import BridgePlatform
import Supervision

// FoundationEssentials is the small half of Foundation; where it does not exist, there is only the whole.
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Why a bridge could not do what a caller asked for.
public struct BridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The specifications have mistakes; the description names all of them.
        case invalidSpecification
        /// A worker did not become ready.
        case workerNotReady
        /// A worker was not replaced; the description says why.
        case notReplaced
        /// The call came at the wrong time: the bridge was started before, does not run yet, is ending or has ended.
        case wrongState
        /// The control socket cannot be made or taken: for example, its path is unsafe, or another process serves it.
        case control
        /// The operating system refused something that the bridge cannot do without.
        case system
    }

    /// The kind of failure.
    public let code: Code

    /// What went wrong, in sentences.
    public let description: String

    /// The worker that the error is about; nil if it is about none.
    public let worker: String?

    /// The last lines that this worker had printed before it ended, as in ``WorkerExited/lastOutput``; nil if it had
    /// printed none.
    public let lastOutput: String?

    package init(_ code: Code, _ description: String, worker: String? = nil, lastOutput: String? = nil) {
        self.code = code
        self.description = description
        self.worker = worker
        self.lastOutput = lastOutput
    }

    /// How many of the worker's last lines the description contains.
    private static let shownLines = 16

    static func notReady(_ failure: StartupFailure, lastOutput: String?) -> BridgeError {
        var description = "worker \"\(failure.name)\" did not become ready: \(failure.reason)"
        if let lastOutput {
            let lines = lastOutput.split(separator: "\n").suffix(shownLines).joined(separator: "\n  ")
            description += "; what it had printed last:\n  " + TerminalText.harmlessLines(lines)
        }
        return BridgeError(.workerNotReady, description, worker: failure.name, lastOutput: lastOutput)
    }

    static func notReplaced(_ worker: String, _ reason: String) -> BridgeError {
        BridgeError(.notReplaced, "worker \"\(worker)\" was not replaced: \(reason)", worker: worker)
    }
}

/// Gives a program that shows errors by their `localizedDescription` the same sentence as `description`.
extension BridgeError: LocalizedError {
    /// What ``BridgeError/description`` says.
    public var errorDescription: String? { description }
}

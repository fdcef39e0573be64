/// Why a bridge could not do what it was asked for.
public struct BridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// The specifications have mistakes; all of them are named.
        case invalidSpecification
        /// A worker did not become ready.
        case workerNotReady
        /// A worker was not replaced: it does its work as before, or will.
        case notReplaced
        /// The bridge is not in a state for this: started twice, or after its end.
        case wrongState
        /// The control socket cannot be made: its path is unsafe or too long, or another process serves it.
        case control
        /// The operating system refused something the bridge cannot do without.
        case system
    }

    /// The kind of failure.
    public let code: Code

    /// What went wrong, in sentences.
    public let description: String

    /// The worker that it is about, if it is about one.
    public let worker: String?

    package init(_ code: Code, _ description: String, worker: String? = nil) {
        self.code = code
        self.description = description
        self.worker = worker
    }

    static func notReplaced(_ worker: String, _ reason: String) -> BridgeError {
        BridgeError(.notReplaced, "worker \"\(worker)\" was not replaced: \(reason)", worker: worker)
    }
}

public import BridgeControl

/// What a client can ask about the output of workers.
extension BridgeClient {
    /// The lines that a worker has printed over all of its starts, oldest first, as many as fit into one answer.
    ///
    /// The host keeps the last 1,000 lines of each worker, and at most 64 KiB of them. To read on, ask again with the
    /// number of the answer's last line as `after`.
    /// - Parameters:
    ///   - worker: the name of a worker, of one of a pool's members, or of a pool, which stands for all its members.
    ///   - after: the number above which lines are wanted; 0 for all lines.
    ///   - limit: how long this waits for the answer.
    /// - Throws: ``BridgeClientError``: `refused`, with the reason, if there is no such worker, or if the host lists
    ///   lines out of order. `CancellationError` if the task is cancelled.
    public func output(
        of worker: String,
        after: UInt64 = 0,
        within limit: Duration = .seconds(10)
    ) async throws -> WorkerOutputReported {
        let command = WorkerOutputRequested(worker: worker, after: after)
        let answer = try await ask(command, awaiting: WorkerOutputReported.self, within: limit)
        if let refusal = answer.refusal {
            throw BridgeClientError(.refused, "the host at \(core.path) refuses: \(refusal)")
        }
        let numbers = [after] + answer.lines.map(\.number)
        guard answer.lines.count <= WorkerOutputReported.mostLines,
            zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }),
            answer.isComplete || !answer.lines.isEmpty
        else { throw BridgeClientError(.refused, "the host at \(core.path) lists the printed lines in no order") }
        return answer
    }
}

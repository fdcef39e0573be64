public import BridgeControl

/// What a client can do with the dead letters of the host.
///
/// Each command is done once or not at all, like every command to a host.
extension BridgeClient {
    /// The dead letters of the host, oldest first, without their payloads.
    ///
    /// The host answers in pieces: a letter that comes or goes between two answers may be in the list or not.
    /// - Parameters:
    ///   - event: the name of the events whose letters are listed; nil for all events.
    ///   - worker: the worker whose letters are listed, or `host`; nil for all.
    ///   - limit: how long this waits for each answer.
    /// - Throws: ``BridgeClientError``, also if the host lists more than a million letters, or lists them out of order;
    ///   `CancellationError` if the task is cancelled.
    public func deadLetters(
        ofEvent event: String? = nil,
        forWorker worker: String? = nil,
        within limit: Duration = .seconds(10)
    ) async throws -> [DeadLetterReport] {
        var list = DeadLetterList()
        repeat {
            let command = DeadLettersRequested(event: event, worker: worker, after: list.last)
            let answer = try await ask(command, awaiting: DeadLettersReported.self, within: limit)
            guard list.append(answer) else {
                throw BridgeClientError(.refused, "the host at \(core.path) lists its dead letters in no order")
            }
        } while !list.isComplete
        return list.letters
    }

    /// A dead letter of the host, with its payload.
    ///
    /// - Parameters:
    ///   - letter: the number of the letter.
    ///   - limit: how long this waits for the answer.
    /// - Returns: The letter; nil if the host has no letter of that number.
    /// - Throws: ``BridgeClientError``; `CancellationError` if the task is cancelled.
    public func deadLetter(_ letter: UInt64, within limit: Duration = .seconds(10)) async throws -> DeadLetterReport? {
        try await ask(DeadLetterRequested(letter: letter), awaiting: DeadLetterReported.self, within: limit).letter
    }

    /// Has the host offer the event of a dead letter again, to the process that the event was for.
    ///
    /// The letter is gone once that process has accepted the event. If the worker refuses the event again later, or
    /// crashes over it too often, the event is a dead letter again, under a new number.
    /// - Parameters:
    ///   - letter: the number of the letter.
    ///   - limit: how long this waits for the answer; the command is not taken back after that. If the event is for the
    ///     host, the answer comes when the host's handlers have returned.
    /// - Returns: The outcome; a letter that does not exist, or whose event was not taken, is no error.
    /// - Throws: ``BridgeClientError``; `CancellationError` if the task is cancelled (the command still stands).
    public func redeliverDeadLetter(
        _ letter: UInt64,
        within limit: Duration = .seconds(30)
    ) async throws -> DeadLetterOutcome {
        let command = DeadLetterRedeliveryRequested(letter: letter)
        return try await ask(command, awaiting: DeadLetterSettled.self, within: limit).outcome
    }

    /// Has the host throw a dead letter away, and its event with it.
    ///
    /// - Parameters:
    ///   - letter: the number of the letter.
    ///   - limit: how long this waits for the answer; the command is not taken back after that.
    /// - Returns: The outcome; a letter that does not exist is no error.
    /// - Throws: ``BridgeClientError``; `CancellationError` if the task is cancelled (the command still stands).
    public func discardDeadLetter(
        _ letter: UInt64,
        within limit: Duration = .seconds(10)
    ) async throws -> DeadLetterOutcome {
        try await ask(DeadLetterDiscardRequested(letter: letter), awaiting: DeadLetterSettled.self, within: limit)
            .outcome
    }
}

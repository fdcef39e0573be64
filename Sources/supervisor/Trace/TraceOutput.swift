import BridgePlatform

/// The place where a trace is written: standard output, or a file; a regular file exists as a whole or not at all.
struct TraceOutput: @unchecked Sendable {
    // Sendable: one thread writes the output once, while no other thread uses it. ``discard()`` touches only values
    // that never change.

    private enum Place {
        case standardOutput
        case file(FileReplacement)
    }

    /// The output's name in a sentence.
    let name: String
    /// The end of a sentence that says what is left of a trace that could not be written; may be empty.
    let remainder: String
    private let place: Place

    init(_ output: TraceOptions.Output) throws(RunFailure) {
        switch output {
        case .standardOutput:
            name = "standard output"
            remainder = ""
            place = .standardOutput
        case .file(let path):
            name = TerminalText.harmless(path)
            do {
                let file = try FileReplacement(of: path)
                remainder = file.leavesNothing ? "; no part of it is left" : ""
                place = .file(file)
            } catch {
                throw RunFailure(status: .output, description: "supervisor: \(name) cannot be written: \(error)")
            }
        }
    }

    /// Writes a trace, on a thread that may wait.
    ///
    /// - Returns: Why the trace could not be written; nil if it was written.
    func write(_ trace: ChromeTrace) async throws -> SystemFileError? {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try PlatformThread.start(name: "trace") { continuation.resume(returning: failure(of: trace)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Removes a file that is not complete; any thread may call it right before the process exits.
    func discard() {
        if case .file(let file) = place { file.discard() }
    }

    private func failure(of trace: ChromeTrace) -> SystemFileError? {
        do throws(SystemFileError) {
            switch place {
            case .standardOutput:
                try trace.write { (bytes) throws(SystemFileError) in try SystemFile.standardOutput.append(bytes) }
            case .file(let file):
                try trace.write { (bytes) throws(SystemFileError) in try file.append(bytes) }
                try file.commit()
            }
            return nil
        } catch {
            return error
        }
    }
}

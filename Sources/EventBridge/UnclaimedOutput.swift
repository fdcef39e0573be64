import BridgePlatform

/// Prints on standard error the workers' lines that neither this process nor a worker subscribes to, each after the
/// worker's name.
///
/// Printing waits for no reader, except where ``UnwaitedOutput`` says so: what standard error does not take at once is
/// left out. Of a line that is taken in part, the rest is left out.
final class UnclaimedOutput: @unchecked Sendable {
    // Sendable: only the poller's thread, which reads all output of workers, touches it.

    private let number: CInt
    private var endsInPart = false

    /// - Parameter number: the descriptor of standard error.
    init(_ number: CInt = UnwaitedOutput.standardErrorNumber) { self.number = number }

    func print(_ line: String, of worker: String) {
        let text = "\(endsInPart ? "\n" : "")[\(worker)] \(TerminalText.harmless(line))\n"
        var rest = Array(text.utf8)[...]
        // The output is opened for each line: unclaimed lines are few, and the host keeps no descriptor for them.
        let output = UnwaitedOutput(number)
        while !rest.isEmpty {
            let count = output.write(rest)
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
            endsInPart = !rest.isEmpty
        }
    }
}

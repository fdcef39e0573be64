import BridgeControl
import BridgeProtocol
import DomainEvents

/// Answers the questions about what workers have printed.
///
/// The thread that reads the sender's link answers each question. The number of lines that the host keeps of a worker,
/// and the number of members of a pool, bound the cost of an answer.
final class OutputService: Sendable {
    /// An answer that has this many bytes of text takes no further line.
    private static let mostBytes = 256 << 10

    private let core: HostCore

    init(_ core: HostCore) {
        self.core = core
    }

    func open() -> Subscription {
        let publisher = core.publisher
        return publisher.subscribe(to: WorkerOutputRequested.self) { [weak self] in
            if let self { publisher.publish(report($0)) }
        }
    }

    private func report(_ command: WorkerOutputRequested) -> WorkerOutputReported {
        let workers = core.indices(of: command.worker).map(core.worker)
        guard !workers.isEmpty else {
            let name = command.worker.shortened(toScalars: 64)
            return WorkerOutputReported(refusal: "there is no worker \"\(name)\"")
        }
        let most = WorkerOutputReported.mostLines
        let found = MergedOutput(
            of: workers.lazy.map(\.printed),
            core.output.numbers,
            after: command.after,
            atMost: most + 1
        )
        var lines: [OutputLine] = []
        var bytes = 0
        for (place, line) in found.lines {
            guard lines.count < most, bytes < Self.mostBytes else { break }
            lines.append(OutputLine(line, of: workers[place].specification.name))
            bytes += lines.last?.text.utf8.count ?? 0
        }
        return WorkerOutputReported(
            lines: lines,
            isComplete: lines.count == found.lines.count,
            // A question for all lines has missed none: its answer begins with the oldest line that was kept.
            hasMissed: command.after > 0 && found.hasForgotten
        )
    }
}

extension OutputLine {
    fileprivate init(_ line: OutputLog.Line, of worker: String) {
        self.init(
            number: line.number,
            worker: worker,
            isError: line.isError,
            nanosecondsSinceEpoch: line.nanosecondsSinceEpoch,
            text: String(decoding: line.bytes, as: UTF8.self),
            isCut: line.isCut
        )
    }
}

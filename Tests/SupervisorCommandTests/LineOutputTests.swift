import BridgePlatform
import Locks
import TestSupport
import Testing

@testable import supervisor

/// The sentences of one test, from any thread.
private final class Sentences: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var noted: [String] = []

    var all: [String] { lock.withLock { noted } }

    func note(_ text: String) { lock.withLock { noted.append(text) } }
}

@Suite("Lines of output", .timeLimit(.minutes(5)))
struct LineOutputTests {
    @Test("two outputs that lead to the same file take turns, so that no line stands in another")
    func turns() throws {
        let pipe = try FileDescriptor.pipe()
        let second = try FileDescriptor.duplicate(pipe.writing.rawValue)
        let (turns, count) = (WritingTurns(), rounds(60))
        let outputs = [
            try LineOutput(SystemFile(pipe.writing), name: "one", turns: turns),
            try LineOutput(SystemFile(second), name: "other", turns: turns),
        ]
        // Longer than a pipe takes at once.
        for _ in 0..<count {
            for (output, letter) in zip(outputs, ["a", "b"]) {
                output.write(String(repeating: letter, count: 200_000), whenFull: .take)
            }
        }
        let reader = SystemFile(pipe.reading)
        var lines = LineReader { () throws(SystemFileError) in try reader.read(upTo: 64 << 10) }
        for _ in 0..<(2 * count) {
            guard case .line(let line)? = try lines.next() else {
                Issue.record("a line is missing")
                return
            }
            #expect(line.count == 200_000 && Set(line).count == 1)
        }
        withExtendedLifetime(outputs) {}
    }

    @Test("F11: where the reader is gone the writing ends, which is reported once, and no writer is held up")
    func readerGone() throws {
        SignalSource.ignoreBrokenPipes()
        let pipe = try FileDescriptor.pipe()
        pipe.reading.close()
        let sentences = Sentences()
        let output = try LineOutput(SystemFile(pipe.writing), name: "lines", capacity: 64) { failure in
            sentences.note("\(failure), \(failure.hasNoReader), \(failure.hasNoRoom)")
        }
        for _ in 0..<100 { output.write(String(repeating: "x", count: 64), whenFull: .wait) }
        // Nothing is missing where nothing reads.
        #expect(output.flush() == 0 && output.failure == nil)
        waitUntil { !sentences.all.isEmpty }
        #expect(sentences.all == ["Broken pipe, true, false"])
    }

    @Test("N15: where nothing can be written, lines that were written, that wait and that come later are counted")
    func unwritable() throws {
        let (sentences, turns) = (Sentences(), WritingTurns())
        // Open for reading only.
        let file = try SystemFile.open(reading: "/dev/null")
        turns.take()
        let output = try LineOutput(file, name: "lines", capacity: 1, turns: turns) { failure in
            sentences.note("\(failure), \(failure.hasNoReader), \(failure.hasNoRoom)")
        }
        output.write("is being written", whenFull: .wait)
        // There is room as soon as the writing thread has taken the first line.
        output.write("waits", whenFull: .wait)
        output.write("waits, too", whenFull: .take)
        #expect(output.failure == nil && output.hasReader)
        turns.giveBack()
        #expect(output.flush() == 3 && !output.hasReader)
        output.write("comes later", whenFull: .wait)
        output.write("comes later, too", whenFull: .take)
        #expect(output.flush() == 5)
        waitUntil { !sentences.all.isEmpty }
        #expect(sentences.all == ["Bad file descriptor, false, false"])
        #expect(output.failure?.description == "Bad file descriptor")
    }

    @Test("N15: what a full disk does not take is counted, and the next lines are tried again")
    func full() throws {
        guard OperatingSystem.fileExists("/dev/full") else {
            CurrentProcess.report("not tested: N15, a full disk under lines of output, as there is no /dev/full")
            return
        }
        let sentences = Sentences()
        let output = try LineOutput(SystemFile.create("/dev/full"), name: "lines") { failure in
            sentences.note("\(failure), \(failure.hasNoReader), \(failure.hasNoRoom)")
        }
        for number in 1...3 {
            output.write("line", whenFull: .wait)
            #expect(output.flush() == number)
            #expect(output.failure?.hasNoRoom == true)
        }
        waitUntil { !sentences.all.isEmpty }
        #expect(sentences.all == ["No space left on device, false, true"])
    }
}

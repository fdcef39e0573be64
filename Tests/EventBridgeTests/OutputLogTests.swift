import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents
import TestSupport
import Testing

@testable import EventBridge

@Suite("The lines that a worker has printed last")
struct OutputLogTests {
    private func line(_ text: String) -> LinePipe.Line { LinePipe.Line(bytes: Array(text.utf8), isContinued: false) }

    @Test("are kept up to a number and up to so many bytes, the last ones, and are found behind a number")
    func bounds() {
        let log = OutputLog(OutputNumbers())
        #expect(log.lines(after: 0, atMost: 5).lines.isEmpty && !log.lines(after: 0, atMost: 5).hasForgotten)
        for number in 1...5_000 { log.add(line("\(number)"), isError: number % 2 == 0) }
        let all = log.lines(after: 0, atMost: .max)
        // Each line counts for more than its few bytes.
        let most = OutputLog.maximumBytes / (4 + OutputLog.lineBytes)
        #expect(all.lines.map(\.number) == Array(UInt64(5_001 - most)...5_000) && all.hasForgotten)
        #expect(all.lines.allSatisfy { $0.isError == ($0.number % 2 == 0) && !$0.isCut })
        let behind = log.lines(after: 4_990, atMost: 3)
        #expect(behind.lines.map { String(decoding: $0.bytes, as: UTF8.self) } == ["4991", "4992", "4993"])
        #expect(!behind.hasForgotten)
        #expect(log.lines(after: 10, atMost: 3).hasForgotten)
        #expect(log.lines(after: .max, atMost: 3).lines.isEmpty)
        let long = String(repeating: "x", count: 16_384)
        for _ in 1...100 { log.add(line(long), isError: false) }
        let last = log.lines(after: 0, atMost: .max).lines
        #expect(last.allSatisfy { $0.isCut && $0.bytes.count == OutputLog.maximumLineBytes })
        #expect(last.count == OutputLog.maximumBytes / (OutputLog.maximumLineBytes + OutputLog.lineBytes))
    }

    @Test("of several workers are found without a hole, though lines are added while the logs are read")
    func addedMeanwhile() {
        let numbers = OutputNumbers()
        let logs = [OutputLog(numbers), OutputLog(numbers)]
        func add(to log: Int) { logs[log].add(line("\(log)"), isError: false) }
        add(to: 0)
        add(to: 1)
        // The first log has been read when the second one is asked for.
        let meanwhile = logs.lazy.map { log in
            if log === logs[1] {
                add(to: 0)
                add(to: 1)
            }
            return log
        }
        let first = MergedOutput(of: meanwhile, numbers, after: 1, atMost: 100)
        #expect(first.lines.map(\.line.number) == [2] && first.lines.map(\.log) == [1] && !first.hasForgotten)
        let second = MergedOutput(of: logs, numbers, after: 2, atMost: 100)
        #expect(second.lines.map(\.line.number) == [3, 4] && second.lines.map(\.log) == [0, 1])
        #expect(MergedOutput(of: logs, numbers, after: 4, atMost: 100).lines.isEmpty)
        // Each log gives its oldest lines.
        #expect(MergedOutput(of: logs, numbers, after: 0, atMost: 1).lines.map(\.line.number) == [1, 2])
    }

    @Test("of several workers are found without a hole by a reader that asks again and again", .timeLimit(.minutes(5)))
    func polled() throws {
        let numbers = OutputNumbers()
        let logs = [OutputLog(numbers), OutputLog(numbers)]
        // So few that none is forgotten.
        let count = 800
        try PlatformThread.start(name: "worker's lines") {
            for number in 0..<count {
                logs[number % 2].add(LinePipe.Line(bytes: [], isContinued: false), isError: false)
            }
        }
        var found: [UInt64] = []
        waitUntil {
            found += MergedOutput(of: logs, numbers, after: found.last ?? 0, atMost: count).lines.map(\.line.number)
            return found.last == UInt64(count)
        }
        #expect(found == Array(1...UInt64(count)))
    }

    @Test(
        "are told to who is attached: of one worker, in pieces, and of an unknown one why not",
        .timeLimit(.minutes(5))
    )
    func told() async throws {
        let script = "i=0; while [ $i -lt 700 ]; do i=$((i + 1)); echo $i; done; exit 3"
        func shell(_ name: String) -> WorkerSpecification {
            WorkerSpecification(
                name,
                executable: .path("/bin/sh"),
                arguments: ["-c", script],
                restart: .temporary
            )
        }
        let home = try AttachHome()
        let printed = Collected<String>()
        let publisher = home.publisher
        let listening = publisher.subscribe(to: WorkerOutput.self) { printed.add($0.line) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [shell("a"), shell("b")],
            control: ControlSocket(home.path)
        )
        try? await bridge.start()
        await printed.wait { $0.count == 1_400 }
        let client = try await BridgeClient.connect(to: home.path, publisher: EventPublisher())
        let answer = try await client.output(of: "a", within: .seconds(60))
        #expect(answer.lines.map(\.text) == (1...700).map(String.init) && answer.isComplete && !answer.hasMissed)
        #expect(answer.lines.allSatisfy { $0.worker == "a" && !$0.isError && $0.nanosecondsSinceEpoch > 0 })
        let rest = try await client.output(of: "a", after: answer.lines[689].number, within: .seconds(60))
        #expect(rest.lines.map(\.text) == (691...700).map(String.init))
        let end = try await client.output(of: "a", after: .max, within: .seconds(60))
        #expect(end.lines.isEmpty && end.isComplete && !end.hasMissed)
        let error = await #expect(throws: BridgeClientError.self) { try await client.output(of: "c") }
        #expect(error?.code == .refused && error?.description.hasSuffix("there is no worker \"c\"") == true)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(listening) {}
    }
}

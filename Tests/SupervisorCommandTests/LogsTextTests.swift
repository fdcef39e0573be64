import BridgeControl
import Testing

@testable import supervisor

@Suite("What a worker has printed, as it is shown")
struct LogsTextTests {
    private let printed = [
        OutputLine(number: 1, worker: "a.1", nanosecondsSinceEpoch: 3_723_004_000_000, text: "one\u{1B}[2J"),
        OutputLine(
            number: 2,
            worker: "a.2",
            isError: true,
            nanosecondsSinceEpoch: .max,
            text: "two",
            isCut: true
        ),
    ]

    @Test("each line has its time, and of a pool its member; control characters do nothing")
    func lines() {
        let plain = LogsText(namesWorkers: false, secondsAheadOfUTC: { _ in 3_600 })
        let shown = plain.lines(WorkerOutputReported(lines: printed))?.split(separator: "\n")
        #expect(shown?.first == "02:02:03.004  one\\u001b[2J")
        #expect(shown?.last?.hasSuffix("  two …") == true)
        let pool = LogsText(namesWorkers: true, secondsAheadOfUTC: { _ in 0 })
        #expect(pool.lines(WorkerOutputReported(lines: [printed[0]])) == "01:02:03.004  [a.1] one\\u001b[2J")
    }

    @Test("what is missing is said in its place; nothing is nothing")
    func missing() {
        let text = LogsText(namesWorkers: false, secondsAheadOfUTC: { _ in 0 })
        #expect(text.lines(WorkerOutputReported()) == nil)
        #expect(
            text.lines(WorkerOutputReported(lines: [printed[0]], hasMissed: true)) == """
                (lines are missing here: they came faster than they were read)
                01:02:03.004  one\\u001b[2J
                """
        )
    }

    @Test("a sign is one for as long as it takes to read it, and the first end counts", .timeLimit(.minutes(1)))
    func signs() async {
        let signs = LogSigns(of: "render")
        signs.end(.hostLost("gone"))
        signs.end(.readerGone)
        #expect(await signs.next() == .hostLost("gone"))
    }
}

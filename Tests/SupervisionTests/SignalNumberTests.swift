import Testing

@testable import Supervision

@Suite("The number of a signal")
struct SignalNumberTests {
    @Test("is found by name and by number", arguments: ["SIGTERM", "TERM", "term", "sigterm", "15"])
    func found(text: String) throws {
        let signal = try #require(SignalNumber(text))
        #expect(signal.rawValue == ChildSignal.terminate.number)
        #expect(signal.description == "SIGTERM (15)")
    }

    @Test(
        "is none where there is no such signal",
        arguments: ["", "SIG", "SIGSIGTERM", "TERMINATE", "0", "-15", "64", "99999999999", "1.5", "SIG15"]
    )
    func unknown(text: String) {
        #expect(SignalNumber(text) == nil)
    }

    @Test("is refused as a peer's number that is no signal's", arguments: [0, -1, 1_000, .min, .max] as [Int32])
    func hostile(number: Int32) {
        #expect(SignalNumber(number) == nil)
    }

    @Test("has a name for each that is listed, in order")
    func names() {
        #expect(SignalNumber.names.first == "SIGHUP" && SignalNumber.names.contains("SIGUSR1"))
        let numbers = SignalNumber.names.compactMap { SignalNumber($0)?.rawValue }
        #expect(numbers == numbers.sorted() && numbers.count == SignalNumber.names.count)
    }
}

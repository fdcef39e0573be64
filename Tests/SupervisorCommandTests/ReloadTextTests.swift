import BridgeControl
import DomainEvents
import Testing

@testable import supervisor

@Suite("What became of a configuration that was read again")
struct ReloadTextTests {
    @Test("names what was done in a line, and what has failed in others")
    func taken() {
        let nothing = ReloadOutcome(.taken, unchanged: ["a"])
        #expect(ReloadText.taken(nothing) == "the configuration was read again: nothing has changed")
        #expect(ReloadText.failure(nothing) == nil && ReloadText.status(nothing) == .success)
        let all = ReloadOutcome(.taken, started: ["a", "b"], stopped: ["c"], replaced: ["d"], unchanged: ["e"])
        #expect(
            ReloadText.taken(all)
                == #"the configuration was read again: started "a", "b"; stopped "c"; replaced "d"; left alone "e""#
        )
        let failed = ReloadOutcome(.taken, unchanged: ["a"], sentences: ["worker \"a\" goes on as it was"])
        #expect(ReloadText.taken(failed) == #"the configuration was read again: left alone "a""#)
        #expect(ReloadText.failure(failed) == "supervisor: worker \"a\" goes on as it was")
        #expect(ReloadText.status(failed) == .workerUnavailable)
        let failedAll = ReloadOutcome(.taken, sentences: ["worker \"a\" did not become ready"])
        #expect(ReloadText.taken(failedAll) == "the configuration was read again: no change has succeeded")
    }

    @Test(
        "says why it was not taken, with a status for each kind",
        arguments: [
            (ReloadOutcome.Kind.mistaken, "c:1:2: oops", ProgramStatus.configuration),
            (.unreadable, "c:1:2: oops", .noInput),
        ]
    )
    func notTaken(kind: ReloadOutcome.Kind, line: String, status: ProgramStatus) {
        let outcome = ReloadOutcome(kind, saying: ["c:1:2: oops"])
        #expect(
            ReloadText.failure(outcome)
                == "\(line)\nsupervisor: the configuration was not taken; the workers go on with the one before"
        )
        #expect(ReloadText.status(outcome) == status)
    }

    @Test("says of a refused reload only what its sentences say: the workers may be stopping")
    func refused() {
        for (sentences, text) in [
            (
                [ReloadRequests.Refusal.runIsEnding.sentence],
                "supervisor: the configuration was not taken: the supervisor is stopping"
            ),
            (["one", "two"], "supervisor: one\nsupervisor: two"),
            ([], "supervisor: the configuration was not taken"),
        ] {
            let outcome = ReloadOutcome(.refused, saying: sentences)
            #expect(ReloadText.failure(outcome) == text && ReloadText.status(outcome) == .unhandledEvents)
        }
    }

    @Test("tells others a bounded part of very many long sentences")
    func bounds() {
        let sentences = [String](repeating: String(repeating: "x", count: 5_000), count: 2_000)
        let outcome = ReloadOutcome(.mistaken, saying: sentences)
        #expect(outcome.sentences.count == ReloadOutcome.mostSentences)
        #expect(outcome.sentences.allSatisfy { $0.count == 1_024 })
    }

    @Test("requests are answered together, and no more of them wait than there is room for", .timeLimit(.minutes(1)))
    func requests() async {
        let requests = ReloadRequests()
        let publisher = EventPublisher()
        let context = publisher.makeContext(causedBy: nil)
        for _ in 1...ReloadRequests.mostRequesters { #expect(requests.request(by: context) == nil) }
        #expect(requests.request(by: context) == .tooManyWait)
        requests.request()
        let (counts, continuation) = AsyncStream.makeStream(of: Int.self)
        let answering = Task {
            await requests.forEach({ continuation.yield($0.count) }, afterwards: { continuation.yield(-1) })
            continuation.finish()
        }
        var found = counts.makeAsyncIterator()
        #expect(await found.next() == ReloadRequests.mostRequesters)
        #expect(await found.next() == -1)
        requests.request()
        #expect(await found.next() == 0)
        #expect(await found.next() == -1)
        answering.cancel()
        requests.request()
        #expect(await found.next() == nil)
    }

    @Test(
        "a reload is under way from its request on, even if it was requested during another one",
        .timeLimit(.minutes(1))
    )
    func requestedMeanwhile() async {
        let requests = ReloadRequests()
        #expect(!requests.isUnderWay)
        requests.request()
        #expect(requests.isUnderWay)
        let (states, continuation) = AsyncStream.makeStream(of: Bool.self)
        let answering = Task {
            var count = 0
            await requests.forEach(
                { _ in
                    count += 1
                    if count == 1 { requests.request() }
                },
                afterwards: { continuation.yield(requests.isUnderWay) }
            )
        }
        var found = states.makeAsyncIterator()
        #expect(await found.next() == true)
        #expect(await found.next() == false)
        answering.cancel()
        await answering.value
    }

    @Test("requests that wait at the end of the run are handed back to be refused; later ones are refused at once")
    func closed() {
        let requests = ReloadRequests()
        let publisher = EventPublisher()
        let waiting = (1...2).map { _ in publisher.makeContext(causedBy: nil) }
        for context in waiting { #expect(requests.request(by: context) == nil) }
        #expect(requests.close().map(\.id) == waiting.map(\.id))
        #expect(!requests.isUnderWay)
        for context in waiting { #expect(requests.request(by: context) == .runIsEnding) }
        requests.request()
        #expect(!requests.isUnderWay && requests.close().isEmpty)
        let sentence = ReloadRequests.Refusal.runIsEnding.sentence
        #expect(sentence == "the configuration was not taken: the supervisor is stopping")
    }
}

import DomainEvents
import TestSupport
import Testing

@testable import EventRouting
@testable import supervisor

@Suite("A request and its answer")
struct UnansweredRequestTests {
    private func sentence(_ fate: UnansweredRequest.Fate, _ omens: AnswerWatch.Omens = .init()) -> String {
        UnansweredRequest(
            name: "Ask",
            id: "client-1-5f-2",
            answers: ["Yes", "No"],
            limit: .milliseconds(1_500),
            fate: fate,
            omens: omens
        ).sentence
    }

    @Test("without an answer in time it is said what became of the event")
    func sentences() {
        let begin = "Ask client-1-5f-2 was not answered by Yes or No within 1500ms"
        #expect(sentence(.handled(by: ["a", "b"])) == "\(begin); it was handled by a, b")
        #expect(
            sentence(.underWay(DeliveryProgress(handled: ["a"], unheard: ["b", "c"])))
                == "\(begin); it was handled by a; it was not handled yet by b, c, and may still be"
        )
        #expect(
            sentence(.underWay(DeliveryProgress(handled: [], unheard: ["host"]))) == "\(begin); it may still be handled"
        )
        #expect(sentence(.unknown) == "\(begin); it is not known whether it was handled")
        for (handled, said) in [([], ""), (["a"], "it was handled by a; ")] {
            let leaving = DeliveryProgress(handled: handled, unheard: [])
            #expect(sentence(.underWay(leaving)) == "\(begin); \(said)it may still be handled")
        }
        #expect(sentence(.unsent) == "\(begin); it did not leave in time, so it was not published")
        #expect(
            sentence(.unconfirmed, .init(uncaused: 2, hasMissed: true)) == """
                \(begin); the processes that want it do not report whether they handled it; \
                an answer may have been dropped, as there was no room for it; \
                2 of these events came without a cause: an answer is published inside the handler
                """
        )
    }

    private func take(_ watch: AnswerWatch, _ name: String, _ context: EventContext) {
        let payload: [UInt8] = [0xA0]
        payload.withUnsafeBytes {
            watch.take(PassingEvent(name: name, context: context, payload: $0, sender: "host"))
        }
    }

    @Test("the first event of its names that the request has caused is the answer, through any number of steps")
    func watch() {
        let found = Collected<String>()
        let watch = AnswerWatch(for: "Yes", or: "No") {
            found.add("\($0.event.name) \($0.event.context.id) \($0.isFailure)")
        }
        #expect(watch.names == EventName.set(["Yes", "No"]))
        let publisher = EventPublisher(origin: "a")
        let request = publisher.makeContext(causedBy: nil)
        let step = publisher.makeContext(causedBy: request)
        let answer = publisher.makeContext(causedBy: step)
        // The watch has not begun.
        take(watch, "Yes", answer)
        watch.begin(for: request.id)
        take(watch, "Yes", request)
        take(watch, "Other", step)
        take(watch, "Yes", publisher.makeContext(causedBy: nil))
        take(watch, "Yes", publisher.makeContext(causedBy: publisher.makeContext(causedBy: nil)))
        // Of an event of another machine, perhaps only the root is known.
        let other = EventID(origin: "berlin/host", incarnation: 1, number: 2)
        take(watch, "Yes", EventContext(id: other, nanosecondsSinceEpoch: 1, root: step.id))
        #expect(found.all.isEmpty && watch.omens == .init(uncaused: 1))
        take(watch, "No", answer)
        take(watch, "Yes", step)
        #expect(found.all == ["No \(answer.id) true"])
    }
}

import BridgeClient
import BridgeControl
import Testing

@testable import supervisor

@Suite("Dead letters as they are printed")
struct DeadLettersTextTests {
    private func letter(
        _ number: UInt64,
        _ event: String,
        reasons: [String] = [],
        payload: [UInt8]? = nil
    ) -> DeadLetterReport {
        DeadLetterReport(
            letter: number,
            event: event,
            id: "client-1-5f-2",
            worker: "store",
            cause: "refused",
            reasons: reasons,
            attempts: 2,
            strikes: 1,
            nanosecondsSinceEpoch: 1_764_102_682_123_000_000,
            payloadBytes: payload?.count ?? 70_000,
            payload: payload
        )
    }

    @Test("a list has a line for each letter, in columns, with the latest reason")
    func list() {
        let letters = [letter(9, "BoxOrdered", reasons: ["it died", "not\u{1B} today"]), letter(10, "Job")]
        #expect(
            DeadLettersText.list(letters) == """
                ID  EVENT       WORKER  CAUSE    ATTEMPTS  REASON
                 9  BoxOrdered  store   refused         2  not\\u001b today
                10  Job         store   refused         2
                """
        )
        #expect(DeadLettersText.list(letters, width: 20).split(separator: "\n").allSatisfy { $0.count <= 20 })
        #expect(DeadLettersText.list([]) == "no dead letters")
    }

    @Test("a letter that is shown has a line for each thing, and its payload as JSON")
    func shown() {
        #expect(
            DeadLettersText.shown(
                letter(9, "Job", reasons: ["it died", "not today"], payload: [0xA1, 0x61, 0x61, 0x01])
            )
                == """
                letter    9
                event     Job
                event id  client-1-5f-2
                worker    store
                cause     refused
                attempts  2
                strikes   1
                given up  2025-11-25T20:31:22.123Z
                reason    it died
                reason    not today
                payload   {"a":1}
                """
        )
        #expect(DeadLettersText.shown(letter(9, "Job")).hasSuffix("\npayload   (70000 bytes, not shown)"))
        #expect(
            DeadLettersText.shown(letter(9, "Job", payload: [0xFF])).hasSuffix("\npayload   (1 bytes that are no CBOR)")
        )
    }

    @Test(
        "an outcome is a sentence",
        arguments: [
            (DeadLetterOutcome(letter: 3, kind: .accepted, worker: "store"), "letter 3 was accepted by store"),
            (DeadLetterOutcome(letter: 3, kind: .handled, worker: "host"), "letter 3 was handled by host"),
            (DeadLetterOutcome(letter: 3, kind: .discarded, worker: "store"), "letter 3 for store was discarded"),
            (DeadLetterOutcome(letter: .max, kind: .unknown), "there is no letter 18446744073709551615"),
            (DeadLetterOutcome(letter: 3, kind: .refused, refusal: "no\u{7}"), "letter 3 was refused: no\\u0007"),
            (DeadLetterOutcome(letter: 3, kind: .refused), "letter 3 was refused"),
        ]
    )
    func outcome(outcome: DeadLetterOutcome, text: String) {
        #expect(DeadLettersText.outcome(outcome) == text)
    }

    @Test("as JSON a letter is an object in a line, with its payload as data if it is CBOR")
    func json() {
        let text = DeadLettersText.json(letter(9, "Job", payload: [0xA1, 0x61, 0x61, 0x01]))
        #expect(text.hasPrefix(#"{"letter":9,"event":"Job","id":"client-1-5f-2","worker":"store","cause":"refused","#))
        #expect(text.hasSuffix(#""payloadBytes":4,"data":{"a":1}}"#) && !text.contains("\n"))
        #expect(DeadLettersText.json(letter(9, "Job", payload: [0xFF])).hasSuffix(#""data_base64":"/w=="}"#))
        #expect(DeadLettersText.json(letter(9, "Job")).hasSuffix(#""payloadBytes":70000}"#))
        #expect(
            ReportJSON.text(DeadLetterOutcome(letter: 3, kind: .accepted, worker: "store"))
                == #"{"letter":3,"kind":"accepted","worker":"store"}"#
        )
    }

    @Test(
        "a letter without an answer is named as such, and the action goes on with the next",
        arguments: [
            (
                DeadLettersOptions(.redeliver([1, 2, 3])),
                "there was no answer about letter 2 within 5s; it may still be redelivered"
            ),
            (
                DeadLettersOptions(.discard([1, 2, 3])),
                "there was no answer about letter 2 within 5s; it may still be discarded"
            ),
            (DeadLettersOptions(.show([1, 2, 3])), "there was no answer about letter 2 within 5s"),
            (DeadLettersOptions(isJSON: true, .discard([1, 2, 3])), #"{"letter":2,"kind":"unanswered"}"#),
        ]
    )
    func unanswered(options: DeadLettersOptions, line: String) async throws {
        var lines: [String] = []
        func printed(_ line: String) -> ProgramStatus {
            lines.append(line)
            return .success
        }
        let status = try await DeadLettersCommand(options: options, limit: .seconds(5)).each([1, 2, 3], printed) {
            if $0 == 2 { throw BridgeClientError(.timedOut, "no answer") }
            return ("done \($0)", $0 == 3 ? .usage : .success)
        }
        #expect(lines == ["done 1", line, "done 3"])
        #expect(status == .unhandledEvents)
    }

    @Test("the end of the link ends the action, as no later letter could be asked about")
    func endOfLink() async {
        var lines: [String] = []
        func printed(_ line: String) -> ProgramStatus {
            lines.append(line)
            return .success
        }
        let error = await #expect(throws: BridgeClientError.self) {
            _ = try await DeadLettersCommand(options: DeadLettersOptions(.discard([1, 2, 3]))).each([1, 2, 3], printed)
            {
                if $0 == 2 { throw BridgeClientError(.linkEnded, "gone") }
                return ("done \($0)", .success)
            }
        }
        #expect(error?.code == .linkEnded)
        #expect(lines == ["done 1"])
    }
}

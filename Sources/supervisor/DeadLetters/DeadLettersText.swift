import BridgeControl
import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import JSONText

/// The printed form of dead letters, and of the outcomes of actions on them.
enum DeadLettersText {
    // MARK: - For people

    /// The titles, and a line for each letter (two on a narrow terminal), all cut at `width`; nil means no limit.
    static func list(_ letters: [DeadLetterReport], isColoured: Bool = false, width: Int? = nil) -> String {
        guard !letters.isEmpty else { return "no dead letters" }
        let table = TextTable<DeadLetterReport>(
            columns: [
                .init(title: "ID", isNumber: true, text: { "\($0.letter)" }),
                .init(title: "EVENT", text: { $0.event }),
                .init(title: "WORKER", text: { $0.worker }),
                .init(title: "CAUSE", text: { $0.cause }),
                .init(title: "ATTEMPTS", isNumber: true, text: { "\($0.attempts)" }),
                .init(title: "REASON", isLast: true, text: { $0.reasons.last }),
            ],
            rows: letters
        )
        return table.lines(width: width).map { $0.text(isColoured: isColoured, width: width) }.joined(separator: "\n")
    }

    /// Everything known of one letter, a line for each thing.
    static func shown(_ letter: DeadLetterReport) -> String {
        let time = DateText.rfc3339(nanosecondsSinceEpoch: letter.nanosecondsSinceEpoch)
        var lines = [
            ("letter", "\(letter.letter)"), ("event", letter.event), ("event id", letter.id), ("worker", letter.worker),
            ("cause", letter.cause), ("attempts", "\(letter.attempts)"), ("strikes", "\(letter.strikes)"),
            ("given up", time ?? ""),
        ]
        lines += letter.reasons.map { ("reason", $0) }
        lines.append(("payload", payload(of: letter).map { String(decoding: $0.text, as: UTF8.self) } ?? left(letter)))
        return lines.map { title, text in
            let padding = String(repeating: " ", count: 10 - title.count)
            return TerminalText.harmless("\(title)\(padding)\(text)")
        }.joined(separator: "\n")
    }

    private static func left(_ letter: DeadLetterReport) -> String { "(\(letter.payloadBytes) bytes, not shown)" }

    static func outcome(_ outcome: DeadLetterOutcome) -> String {
        let (letter, worker) = ("letter \(outcome.letter)", outcome.worker ?? "its worker")
        let text =
            switch outcome.kind {
            case .accepted: "\(letter) was accepted by \(worker)"
            case .handled: "\(letter) was handled by \(worker)"
            case .discarded: "\(letter) for \(worker) was discarded"
            case .refused: "\(letter) was refused\(outcome.refusal.map { ": \($0)" } ?? "")"
            case .unknown: "there is no letter \(outcome.letter)"
            }
        return TerminalText.harmless(text)
    }

    /// Says that the supervisor has not answered.
    ///
    /// - Parameter consequence: what the action may still do to the letter; nil for an action that changes nothing.
    static func unanswered(_ letter: UInt64, within limit: Duration, mayStillBe consequence: String?) -> String {
        let rest = consequence.map { "; it may still be \($0)" } ?? ""
        return "there was no answer about letter \(letter) within \(DurationText.text(limit))\(rest)"
    }

    // MARK: - For programs

    /// A letter that the supervisor has not answered about, in the form of an outcome.
    static func jsonOfUnanswered(_ letter: UInt64) -> String { ReportJSON.text(Unanswered(letter: letter)) }

    private struct Unanswered: Encodable {
        let letter: UInt64
        let kind = "unanswered"
    }

    /// One letter as a JSON object in a line; its payload is `data`, as in a printed event.
    static func json(_ letter: DeadLetterReport) -> String {
        var head = letter
        head.payload = nil
        guard case .map(var entries) = ReportJSON.value(head) else { return "{}" }
        switch payload(of: letter) {
        case .value(let value)?: entries.append(.init(key: .text("data"), value: value))
        case .bytes(let bytes, _)?: entries.append(.init(key: .text("data_base64"), value: .bytes(bytes)))
        case nil: break
        }
        return ReportJSON.text(.map(entries))
    }

    private static func payload(of letter: DeadLetterReport) -> ShownPayload? {
        letter.payload.map { $0.withUnsafeBytes { ShownPayload($0) } }
    }
}

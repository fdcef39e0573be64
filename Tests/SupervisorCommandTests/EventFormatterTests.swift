import BridgeProtocol
import CBOR
import DomainEvents
import JSONText
import Testing

@testable import SupervisorConfiguration
@testable import supervisor

@Suite("Printed events")
struct EventFormatterTests {
    private let host = EventID(origin: "host", incarnation: 255, number: 3)

    private func event(
        name: String = "BoxProvisioned",
        sender: String? = "provisioning",
        content: ShownPayload = .value(.map([.init(key: .text("id"), value: .unsigned(.max))])),
        traceparent: String = ""
    ) -> PrintedEvent {
        let context = EventContext(
            id: EventID(origin: sender ?? "host", incarnation: 10, number: 4),
            nanosecondsSinceEpoch: 1_700_000_000_123_456_789,
            attempt: 2,
            cause: sender == nil ? nil : host,
            traceparent: Traceparent(traceparent)
        )
        return PrintedEvent(name: name, context: context, sender: sender, content: content)
    }

    private func formatter(isColoured: Bool = false, ahead: Int = 0, width: Int? = nil) -> TextFormatter {
        TextFormatter(
            origins: ["provisioning", "canvas"],
            names: ["BoxProvisioned", "Box"],
            isColoured: isColoured,
            secondsAheadOfUTC: { _ in ahead },
            width: { width }
        )
    }

    private func text(_ event: PrintedEvent, isColoured: Bool = false, ahead: Int = 0, width: Int? = nil) -> String {
        String(decoding: formatter(isColoured: isColoured, ahead: ahead, width: width).line(event), as: UTF8.self)
    }

    private func json(_ event: PrintedEvent) -> String {
        String(decoding: CloudEventFormatter().line(event), as: UTF8.self)
    }

    @Test("are aligned columns without any escape")
    func alignedText() {
        #expect(
            text(event()) == "22:13:20.123  provisioning → BoxProvisioned  {\"id\":18446744073709551615}"
        )
        #expect(
            text(event(name: "Box", sender: nil))
                == "22:13:20.123  input        → Box             {\"id\":18446744073709551615}"
        )
    }

    @Test("show the time of day of the place, also beyond midnight")
    func localTime() {
        #expect(text(event(), ahead: 7200).hasPrefix("00:13:20.123  "))
        #expect(text(event(), ahead: -86_400).hasPrefix("22:13:20.123  "))
    }

    @Test("are coloured only where asked for, and the columns stay as wide")
    func colours() {
        let coloured = text(event(), isColoured: true)
        #expect(coloured.contains("\u{1B}[1m"))
        let plain = ["2", "36", "1", "0"].reduce(coloured) { $0.replacing("\u{1B}[\($1)m", with: "") }
        #expect(plain == text(event()))
    }

    @Test("are coloured on a terminal that can, unless its user says no")
    func colourDecision() {
        func wants(_ isTerminal: Bool, _ environment: [String: String]) -> Bool {
            TextFormatter.isColourWanted(isTerminal: isTerminal) { environment[$0] }
        }
        #expect(wants(true, ["TERM": "xterm"]))
        #expect(wants(true, ["NO_COLOR": ""]))
        #expect(!wants(false, ["TERM": "xterm"]))
        #expect(!wants(true, ["NO_COLOR": "1"]))
        #expect(!wants(true, ["TERM": "dumb"]))
    }

    @Test("cannot steer the terminal, whatever their name and content")
    func harmless() {
        let line = text(event(name: "A\u{1B}[2J\nB", content: .value(.text("\u{1B}[31m\n"))))
        #expect(!line.unicodeScalars.contains { $0.value < 0x20 })
        #expect(line.contains("A\\u001b[2J\\u000aB"))
    }

    @Test("are CloudEvents, in which integers keep all their bits")
    func cloudEvent() throws {
        #expect(
            json(event()) == """
                {"specversion":"1.0","id":"provisioning-a-4","source":"provisioning","type":"BoxProvisioned",\
                "time":"2023-11-14T22:13:20.123456Z","attempt":2,"causationid":"host-ff-3",\
                "data":{"id":18446744073709551615}}
                """
        )
        let input = try JSONReader().read(json(event(sender: nil)))
        #expect(input["traceparent"] == nil)
        let traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        #expect(try JSONReader().read(json(event(traceparent: traced)))["traceparent"]?.value == .string(traced))
        #expect(input["source"]?.value == .string("host"))
        #expect(input["causationid"] == nil)
    }

    @Test("say that their content is no CBOR, or carry it as it is")
    func opaque() throws {
        let event = event(content: .bytes([0xFF, 0x00], because: .isNoCBOR))
        #expect(text(event).hasSuffix("(2 bytes that are no CBOR)"))
        let read = try JSONReader().read(json(event))
        #expect(read["datacontenttype"]?.value == .string("application/cbor"))
        #expect(read["data_base64"]?.value == .string("/wA="))
        #expect(read["data"] == nil)
    }

    @Test("are as wide as their terminal at the most, and end with an ellipsis where something was cut off")
    func width() {
        let whole = text(event())
        #expect(text(event(), width: whole.count) == whole)
        for width in 1..<whole.count {
            let cut = text(event(), width: width)
            #expect(cut == whole.prefix(width - 1) + "…")
        }
    }

    @Test("are cut between characters and between escapes, however wide those are")
    func cutCharacters() {
        let wide = event(name: "箱e\u{301}👩‍👩‍👧", content: .value(.text("日本👍🏽日本")))
        let whole = text(wide)
        for width in 1...80 {
            let cut = text(wide, width: width)
            #expect(TextWidth.columns(of: cut) <= width)
            #expect(cut == whole || (cut.hasSuffix("…") && whole.hasPrefix(cut.dropLast())))
            let coloured = text(wide, isColoured: true, width: width)
            #expect(["2", "36", "1", "0"].reduce(coloured) { $0.replacing("\u{1B}[\($1)m", with: "") } == cut)
            #expect(coloured.count { $0 == "\u{1B}" } % 2 == 0)
        }
    }

    @Test(
        "take as many columns as a terminal gives them at the most",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("→", 1), ("日本", 4), ("한국", 4), ("ｆ", 2), ("👍", 2),
            ("👩‍👩‍👧", 6), ("☺\u{FE0F}", 2), ("\u{200B}", 0), ("a\tb", 10),
        ]
    )
    func columns(text: String, columns: Int) {
        #expect(TextWidth.columns(of: text) == columns)
    }

    @Test("stay aligned when an unknown name comes, unless it is wider than any column")
    func growingColumns() {
        let formatter = formatter()
        func arrow(_ event: PrintedEvent) -> Int? {
            let line = String(decoding: formatter.line(event), as: UTF8.self)
            return line.firstIndex(of: "→").map { line.distance(from: line.startIndex, to: $0) }
        }
        let first = arrow(event())
        #expect(arrow(event(sender: String(repeating: "x", count: 41))) == first.map { $0 + 41 - 12 })
        #expect(arrow(event()) == first)
        #expect(arrow(event(sender: "provisioning-12")) == first.map { $0 + 3 })
        #expect(arrow(event()) == first.map { $0 + 3 })
    }

    @Test("have a line of another kind in the place of missing ones")
    func gaps() throws {
        let first = EventID(origin: "canvas", incarnation: 10, number: 4)
        let gap = PrintedGap(Gap(name: "A\u{7}", reason: .policy, count: 37, ranges: [.init(first: first, last: 40)]))
        let one = PrintedGap(Gap(name: "A", reason: .full, count: 1, ranges: []))
        func text(_ gap: PrintedGap) -> String { String(decoding: formatter().line(gap), as: UTF8.self) }
        #expect(text(gap) == "(37 events A\\u0007 are missing here: they came faster than they were read)")
        #expect(text(one) == "(1 event A is missing here: they came faster than they were read)")
        #expect(text(.away) == "(events may be missing here: there was no link to the supervisor)")
        func json(_ gap: PrintedGap) -> String { String(decoding: CloudEventFormatter().line(gap), as: UTF8.self) }
        #expect(
            json(gap) == """
                {"bridge":"gap","type":"A\\u0007","count":37,"reason":"dropped",\
                "ranges":[{"first":"canvas-a-4","last":"canvas-a-40"}]}
                """
        )
        #expect(json(.away) == #"{"bridge":"gap","count":null,"reason":"away"}"#)
    }

    @Test("can be fed in again")
    func roundTrip() throws {
        let event = try InputEvent(line: CloudEventFormatter().line(event()))
        #expect(event.name == "BoxProvisioned")
        #expect(try CBORValue(decoding: event.payload)["id"] == .unsigned(.max))
    }
}

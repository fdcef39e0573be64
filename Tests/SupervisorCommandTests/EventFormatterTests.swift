import CBOR
import DomainEvents
import JSONText
import Testing

@testable import supervisor

@Suite("Printed events")
struct EventFormatterTests {
    private let host = EventID(origin: "host", incarnation: 255, number: 3)

    private func event(
        name: String = "BoxProvisioned",
        sender: String? = "provisioning",
        content: PrintedEvent.Content = .value(.map([.init(key: .text("id"), value: .unsigned(.max))])),
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

    private func text(_ event: PrintedEvent, isColoured: Bool = false, ahead: Int = 0) -> String {
        let formatter = TextFormatter(
            origins: ["provisioning", "canvas"],
            names: ["BoxProvisioned", "Box"],
            isColoured: isColoured,
            secondsAheadOfUTC: { _ in ahead }
        )
        return String(decoding: formatter.line(event), as: UTF8.self)
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

    @Test("that are no CBOR are said to be so, or given as they are")
    func opaque() throws {
        let event = event(content: .bytes([0xFF, 0x00]))
        #expect(text(event).hasSuffix("(2 bytes that are no CBOR)"))
        let read = try JSONReader().read(json(event))
        #expect(read["datacontenttype"]?.value == .string("application/cbor"))
        #expect(read["data_base64"]?.value == .string("/wA="))
        #expect(read["data"] == nil)
    }

    @Test("can be fed in again")
    func roundTrip() throws {
        let event = try InputEvent(line: CloudEventFormatter().line(event()))
        #expect(event.name == "BoxProvisioned")
        #expect(try CBORValue(decoding: event.payload)["id"] == .unsigned(.max))
    }
}

import Testing

@testable import NATSGateway

@Suite struct EventHeadersTests {
    private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func headers(_ name: String = "BoxOrdered", path: [String] = ["berlin"]) throws -> EventHeaders {
        EventHeaders(
            id: "input 7é-1f-12",
            source: "input 7é",
            name: name,
            time: "2026-01-02T03:04:05.6Z",
            cause: "host-2-3",
            traceparent: Self.traceparent,
            path: try path.map(node)
        )
    }

    private func read(_ fields: [String: String], as name: String = "BoxOrdered") throws -> EventHeaders {
        try EventHeaders(event: name, reader: try node("paris")) { fields["\($0)"] }
    }

    private func fields(of headers: EventHeaders) -> [String: String] {
        Dictionary(uniqueKeysWithValues: headers.fields.map { ("\($0.name)", $0.value) })
    }

    @Test(arguments: ["BoxOrdered", "a.b > *", "Größe", "line\r\nNats-Msg-Id: x"])
    func whatIsWrittenIsRead(_ name: String) throws {
        let headers = try headers(name)
        let fields = fields(of: headers)
        #expect(fields.values.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
        #expect(try read(fields, as: name) == headers)
    }

    @Test func theFieldsAreThoseOfCloudEvents() throws {
        let fields = fields(of: try headers())
        #expect(fields["ce-specversion"] == "1.0")
        #expect(fields["ce-type"] == "BoxOrdered")
        #expect(fields["ce-id"] == "input%207%C3%A9-1f-12")
        #expect(fields["content-type"] == "application/cbor")
        #expect(fields["traceparent"] == Self.traceparent)
    }

    @Test(
        arguments: [
            ("ce-specversion", nil), ("ce-specversion", "2.0"), ("ce-id", nil), ("ce-id", ""), ("ce-id", "a b"),
            ("ce-source", nil), ("ce-type", nil), ("ce-type", "Other"), ("content-type", nil),
            ("content-type", "text/plain"),
            ("bridge-node", nil), ("bridge-node", ""), ("bridge-node", "a b"), ("bridge-node", "berlin,paris"),
            ("bridge-node", "a,b,c,d,e,f,g,h,i"), ("bridge-node", String(repeating: "x,", count: 100_000)),
            ("ce-id", String(repeating: "x", count: 100_000)),
        ] as [(String, String?)]
    )
    func hostileFieldIsAMistake(_ key: String, _ value: String?) throws {
        var fields = fields(of: try headers())
        fields[key] = value
        #expect(throws: EventHeaders.Mistake.self) { try read(fields) }
    }

    @Test(
        arguments: [(nil, 1), ("0", 1), ("1", 1), ("5", 5), ("-1", 1), ("x", 1), ("4294967296", 1)] as [(String?, Int)]
    )
    func attemptsAreCountedFromOne(_ text: String?, _ count: Int) throws {
        var fields = fields(of: try headers())
        #expect(fields["bridge-attempt"] == nil)
        fields["bridge-attempt"] = text
        #expect(try read(fields).attempt == count)
        var again = try headers()
        again.attempt = count
        #expect(try read(self.fields(of: again)).attempt == count)
    }

    @Test(
        arguments: [(nil, 1), ("0", 1), ("5", 5), ("-1", 1), ("x", 1), ("65535", 65_535), ("65536", 1)]
            as [(String?, Int)]
    )
    func crossingsAreCountedFromOne(_ text: String?, _ count: Int) throws {
        var fields = fields(of: try headers())
        fields["bridge-crossings"] = text
        #expect(try read(fields).crossings == count)
        var crossed = try headers()
        crossed.crossings = count
        #expect(try read(self.fields(of: crossed)).crossings == count)
    }

    @Test func eightNodesAreNotTooMany() throws {
        let fields = fields(of: try headers(path: ["a", "b", "c", "d", "e", "f", "g", "h"]))
        #expect(try read(fields).path.count == 8)
    }

    @Test func whatIsOptionalMayBeMissing() throws {
        var fields = fields(of: try headers())
        for key in ["ce-time", "bridge-cause", "traceparent"] { fields[key] = nil }
        let found = try read(fields)
        #expect(found.time == nil && found.cause == nil && found.traceparent == nil)
    }
}

import DomainEvents
import Testing

@Suite("Names of events")
struct EventNameTests {
    /// Names that are equal as `String`s: a letter and a sign, one scalar and two, two orders of marks.
    private static let spellings = [
        ("K", "\u{212A}"), ("\u{E9}", "e\u{301}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"), (";", "\u{37E}"),
    ]

    @Test("are their bytes: what is equal as text is another name in another spelling", arguments: spellings)
    func bytes(one: String, other: String) {
        #expect(one == other)
        #expect(EventName(one) != EventName(other))
        #expect(Set([EventName(one), EventName(other), EventName(one)]).count == 2)
        #expect(!one.hasBytes(of: other) && one.hasBytes(of: one))
        let long = String(repeating: "x", count: 40)
        #expect(EventName(long + one) == EventName(long + one) && EventName(long + one) != EventName(long + other))
    }

    @Test("of types are found by their bytes", arguments: ["\u{E9}", "e\u{301}"])
    func types(name: String) {
        struct Composed: DomainEvent { static let eventName = "\u{E9}" }
        struct Decomposed: DomainEvent { static let eventName = "e\u{301}" }
        let publisher = EventPublisher()
        let one = publisher.subscribe(to: Composed.self) { _ in }
        let other = publisher.subscribe(to: Decomposed.self) { _ in }
        #expect(publisher.channel(named: name)?.name.hasBytes(of: name) == true)
        one.cancel()
        #expect(publisher.isWanted("e\u{301}") && !publisher.isWanted("\u{E9}"))
        other.cancel()
    }

    @Test("have 1 to 256 bytes, and none is \"*\", which may stand where all are wanted")
    func mistakes() {
        let longest = String(repeating: "x", count: 256)
        for name in ["a", longest, "**", "\u{E9}\0\n"] { #expect(EventName.mistake(in: name) == nil) }
        for (name, bytes) in [("", 0), (longest + "x", 257), (String(repeating: "\u{E9}", count: 129), 258)] {
            let mistake = "an event name has 1 to 256 bytes; found \(bytes)"
            #expect(EventName.mistake(in: name) == mistake)
            #expect(EventName.mistake(in: name, mayBeEverything: true) == mistake)
        }
        #expect(EventName.mistake(in: "*")?.hasPrefix("no event has the name \"*\"") == true)
        #expect(EventName.mistake(in: "*", mayBeEverything: true) == nil)
    }
}

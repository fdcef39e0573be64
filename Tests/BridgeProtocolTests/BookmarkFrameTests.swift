import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

@Suite("Bookmarks in frames")
struct BookmarkFrameTests {
    private static func head(_ bookmark: [UInt8]?) -> EventHead {
        var head = EventHead(sequence: 3, id: .sender(number: 3), nanosecondsSinceEpoch: 9, name: .number(1))
        head.bookmark = bookmark
        return head
    }

    @Test("An event's bookmark of 0 to 256 bytes comes as it was", arguments: [0, 1, 23, 24, 255, 256])
    func event(count: Int) throws {
        let mark = [UInt8](repeating: 0xF6, count: count)
        let (head, payload) = try decodeEvent(bodyOf(frame(Self.head(mark), payload: [0xA0])))
        #expect(head == Self.head(mark))
        #expect(payload == [0xA0])
        let sender = EventSource(origin: "importer", incarnation: 5)
        let context = head.context(from: sender, to: EventSource(origin: "host", incarnation: 6))
        #expect(context.bookmark?.worker == "importer" && context.bookmark?.bookmark.bytes == mark)
        // A run would leave the bookmark out.
        #expect(runLength(Self.head(mark)) == 0 && runLength(Self.head(nil)) == 1)
    }

    /// How many events a run has that begins with an event of this head.
    private func runLength(_ head: EventHead) -> Int {
        let bytes = frame(head, payload: [UInt8](repeating: 0xA0, count: 40))
        return withUnsafeTemporaryAllocation(of: ArrivedEvent.self, capacity: 4) { events in
            bytes.withUnsafeBytes {
                EventFrame.decodeRun($0, with: FrameDecoder(limit: 4_096), others: SpelledSources(), into: events).count
            }
        }
    }

    @Test("A bookmark that is longer, or of another type, is a violation, in an event and in a welcome")
    func wrong() throws {
        let long = [UInt8](repeating: 0, count: 257)
        let violation = #expect(throws: LinkViolation.self) {
            try decodeEvent(bodyOf(frame(Self.head(long), payload: [0xA0])))
        }
        #expect("\(try #require(violation))".contains("a bookmark has 257 bytes; 256 are the most"))
        let text = body { writer in
            writer.arrayHead(7)
            for number in [8, 3, 3, 9, 1] as [UInt64] { writer.unsigned(number) }
            writer.mapHead(1)
            writer.unsigned(UInt64(7))
            writer.text("17")
            writer.mapHead(0)
        }
        #expect(throws: (any Error).self) { try decodeEvent(text) }
        #expect(throws: LinkViolation.self) { try decodeMessage(bodyOf(frame(Self.welcome(long)))) }
    }

    private static func welcome(_ bookmark: [UInt8]?, name: String? = nil) -> ControlMessage {
        .welcome(
            Welcome(
                version: 1,
                library: "test",
                hostIncarnation: 1,
                workerIncarnation: 2,
                windowBytes: 3,
                windowEvents: 4,
                frameBytes: 5,
                heartbeatMilliseconds: 6,
                features: .bookmarks,
                name: name,
                bookmark: bookmark
            )
        )
    }

    @Test("A welcome has a bookmark or none, with a name or without")
    func welcomes() throws {
        for welcome in [
            Self.welcome(nil), Self.welcome([]), Self.welcome([1, 2, 3]), Self.welcome([4], name: "client-3"),
        ] {
            #expect(try decodeMessage(bodyOf(frame(welcome))) == welcome)
        }
    }
}

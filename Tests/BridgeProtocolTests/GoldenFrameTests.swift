import BridgeProtocol
import CBOR
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The frames in `Fixtures/Wire`, for authors of workers in other languages: the bytes never change.
///
/// With `EVENT_BRIDGE_RECORD_GOLDEN` set the files are written instead of compared.
@Suite("Golden frames")
struct GoldenFrameTests {
    struct Golden: Sendable, CustomTestStringConvertible {
        let file: String
        let remark: String
        let bytes: [UInt8]
        let content: Content

        var testDescription: String { file }

        enum Content: Sendable {
            case message(ControlMessage)
            case event(EventHead, payload: [UInt8])
            case gap(GapFrame)
            case placed(PlacedFrame)
        }

        init(_ file: String, _ remark: String, _ message: ControlMessage) {
            self.file = file
            self.remark = remark
            bytes = frame(message)
            content = .message(message)
        }

        init(_ file: String, _ remark: String, _ head: EventHead, payload: [UInt8]) {
            self.file = file
            self.remark = remark
            bytes = frame(head, payload: payload)
            content = .event(head, payload: payload)
        }

        init(_ file: String, _ remark: String, _ gap: GapFrame) {
            self.file = file
            self.remark = remark
            let buffer = CBORBuffer()
            gap.encode(into: buffer)
            bytes = buffer.copied()
            content = .gap(gap)
        }

        init(_ file: String, _ remark: String, _ placed: PlacedFrame) {
            self.file = file
            self.remark = remark
            bytes = frame(placed)
            content = .placed(placed)
        }
    }

    static let goldens: [Golden] = [
        Golden(
            "hello",
            "The first frame of worker \"canvas\": versions 1 to 1, a window of 1 MiB or 4096 events, frames up to 16 MiB",
            .hello(
                Hello(
                    versions: 1...1,
                    name: "canvas",
                    cookie: "5f3a",
                    library: "example 1.0",
                    windowBytes: 1 << 20,
                    windowEvents: 4_096,
                    frameBytes: 16 << 20
                )
            )
        ),
        Golden(
            "welcome",
            "The host's answer: version 1, host incarnation 0x1111222233334444, worker incarnation 0xAAAABBBBCCCCDDDD, a heartbeat a second",
            .welcome(
                Welcome(
                    version: 1,
                    library: "example 1.0",
                    hostIncarnation: 0x1111_2222_3333_4444,
                    workerIncarnation: 0xAAAA_BBBB_CCCC_DDDD,
                    windowBytes: 1 << 20,
                    windowEvents: 4_096,
                    frameBytes: 16 << 20,
                    heartbeatMilliseconds: 1_000
                )
            )
        ),
        Golden(
            "welcome-features",
            "The same from a host that takes placed events out of the shared outbox (1)",
            .welcome(
                Welcome(
                    version: 1,
                    library: "example 1.0",
                    hostIncarnation: 0x1111_2222_3333_4444,
                    workerIncarnation: 0xAAAA_BBBB_CCCC_DDDD,
                    windowBytes: 1 << 20,
                    windowEvents: 4_096,
                    frameBytes: 16 << 20,
                    heartbeatMilliseconds: 1_000,
                    features: .takesPlacedEvents
                )
            )
        ),
        Golden(
            "welcome-name",
            "The same to a client that has attached, which the host calls client-3",
            .welcome(
                Welcome(
                    version: 1,
                    library: "example 1.0",
                    hostIncarnation: 0x1111_2222_3333_4444,
                    workerIncarnation: 0xAAAA_BBBB_CCCC_DDDD,
                    windowBytes: 1 << 20,
                    windowEvents: 4_096,
                    frameBytes: 16 << 20,
                    heartbeatMilliseconds: 1_000,
                    name: "client-3"
                )
            )
        ),
        Golden(
            "welcome-bookmark",
            "The same from a host that keeps bookmarks (4), to a worker whose last one is \"17\"",
            .welcome(
                Welcome(
                    version: 1,
                    library: "example 1.0",
                    hostIncarnation: 0x1111_2222_3333_4444,
                    workerIncarnation: 0xAAAA_BBBB_CCCC_DDDD,
                    windowBytes: 1 << 20,
                    windowEvents: 4_096,
                    frameBytes: 16 << 20,
                    heartbeatMilliseconds: 1_000,
                    features: .bookmarks,
                    bookmark: Array("17".utf8)
                )
            )
        ),
        Golden(
            "placed",
            "Event 7 lies at byte 528400 of the memory, with 1048621 bytes",
            PlacedFrame(sequence: 7, offset: 528_400, length: 1_048_621)
        ),
        Golden(
            "reject",
            "No version in common (1), with a text for people",
            .reject(Reject(reason: 1, text: "no common version"))
        ),
        Golden(
            "reject-report",
            "No version in common (1), and how the host is: an empty map here",
            .reject(Reject(reason: 1, text: "no common version", report: [0xA0]))
        ),
        Golden(
            "interest",
            "BoxSaved is wanted as number 1 and BoxRemoved as number 2; number 3 is no longer wanted",
            .interest(
                Interest(
                    wanted: [.init(number: 1, name: "BoxSaved"), .init(number: 2, name: "BoxRemoved")],
                    unwanted: [3]
                )
            )
        ),
        Golden(
            "interest-everything",
            "Every event is wanted: number 0 and the name *",
            .interest(Interest(wanted: [.init(number: 0, name: "*")]))
        ),
        Golden("ready", "The worker has subscribed to what it needs", .ready),
        Golden(
            "acknowledge",
            "Incarnation 0xAAAABBBBCCCCDDDD has handled everything up to event 9",
            .acknowledge(Acknowledgement(mark: 9), incarnation: 0xAAAA_BBBB_CCCC_DDDD)
        ),
        Golden(
            "acknowledge-ranges",
            "Handled up to 9, and 11, and 13 to 20; it stands once event 77 of the acknowledging side has arrived",
            .acknowledge(
                Acknowledgement(mark: 9, ranges: [11...11, 13...20], after: 77),
                incarnation: 0xAAAA_BBBB_CCCC_DDDD
            )
        ),
        Golden(
            "refuse",
            "Event 12 cannot be decoded (1)",
            .refuse(Refusal(sequence: 12, reason: 1, text: "volume: expected an integer"))
        ),
        Golden(
            "receipt",
            "The sender's event 12 had two handlers in the host, which has passed it on to \"canvas\"",
            .receipt(Receipt(id: .receiver(number: 12), process: "host", handlers: 2, passedOnTo: ["canvas"]))
        ),
        Golden(
            "receipt-refused",
            "Event 70000 of \"provisioning\" was refused (1) in \"canvas\"",
            .receipt(
                Receipt(
                    id: .other(origin: "provisioning", incarnation: 0x0123_4567_89AB_CDEF, number: 70_000),
                    process: "canvas",
                    outcome: 1,
                    text: "disk full"
                )
            )
        ),
        Golden(
            "event-receipt",
            "An event whose publisher waits for a receipt (option 6, flag 1)",
            {
                var head = EventHead(
                    sequence: 12,
                    id: .sender(number: 12),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                    name: .number(2)
                )
                head.wantsReceipt = true
                return head
            }(),
            payload: [0xA0]
        ),
        Golden(
            "event-replay",
            "An event of a journal that is sent again (option 6, flag 2), with a receipt, as the second attempt",
            {
                var head = EventHead(
                    sequence: 12,
                    id: .sender(number: 7),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                    name: .number(2)
                )
                (head.attempt, head.wantsReceipt, head.isReplay) = (2, true, true)
                return head
            }(),
            payload: [0xA0]
        ),
        Golden(
            "event-bookmark",
            "An event of a worker with the bookmark \"18\"",
            {
                var head = EventHead(
                    sequence: 12,
                    id: .sender(number: 12),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                    name: .number(2)
                )
                head.bookmark = Array("18".utf8)
                return head
            }(),
            payload: [0xA0]
        ),
        Golden("heartbeat", "Alive", .heartbeat),
        Golden(
            "gap",
            "Event 300: 12 of name 2 are missing by an overflow policy (1), between the sender's 5 and 80, and one of \"canvas\"",
            GapFrame(
                sequence: 300,
                name: .number(2),
                count: 12,
                reason: 1,
                ranges: [
                    GapFrame.Range(first: .sender(number: 5), last: 80),
                    GapFrame.Range(
                        first: .other(origin: "canvas", incarnation: 0x0123_4567_89AB_CDEF, number: 70_000),
                        last: 70_000
                    ),
                ]
            )
        ),
        Golden(
            "more-time",
            "The worker needs 30000 ms from now, and says what it is at",
            .moreTime(milliseconds: 30_000, reason: "it reads its index")
        ),
        Golden("drain", "Finish within 5000 ms", .drain(graceMilliseconds: 5_000)),
        Golden(
            "goodbye",
            "An orderly end (1): the last event written was 10, all up to 9 are handled",
            .goodbye(Goodbye(reason: 1, text: "drained", lastWritten: 10, handledMark: 9))
        ),
        Golden(
            "event",
            "The sender's 7th event on the link and its own number 7, name number 1, payload {\"id\": 42}",
            EventHead(
                sequence: 7,
                id: .sender(number: 7),
                nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                name: .number(1)
            ),
            payload: [0xA1, 0x62, 0x69, 0x64, 0x18, 0x2A]
        ),
        Golden(
            "event-named",
            "Name as text, the sender's own number 12 as 3rd event on the link, second attempt, payload {}",
            {
                var head = EventHead(
                    sequence: 3,
                    id: .sender(number: 12),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                    name: .text("BoxSaved")
                )
                head.attempt = 2
                return head
            }(),
            payload: [0xA0]
        ),
        Golden(
            "event-root",
            "Of another machine, without a cause and with the receiver's event 4 as its root, payload {\"id\": 42}",
            {
                var head = EventHead(
                    sequence: 8,
                    id: .other(origin: "berlin/host", incarnation: 0xFEED, number: 5),
                    nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                    name: .number(1)
                )
                head.root = .receiver(number: 4)
                return head
            }(),
            payload: [0xA1, 0x62, 0x69, 0x64, 0x18, 0x2A]
        ),
        Golden(
            "event-full",
            "Of a third process, caused by the receiver's event 4, every option, payload {\"id\": 42}",
            {
                var head = EventHead(
                    sequence: 300,
                    id: .other(origin: "provisioning", incarnation: 0x0123_4567_89AB_CDEF, number: 70_000),
                    nanosecondsSinceEpoch: 1_700_000_000_123_456_789,
                    name: .number(2)
                )
                head.attempt = 3
                head.cause = .receiver(number: 4)
                head.root = .sender(number: 2)
                head.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
                head.settledBelow = 69_000
                return head
            }(),
            payload: [0xA1, 0x62, 0x69, 0x64, 0x18, 0x2A]
        ),
    ]

    private static var directory: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fixtures/Wire")
    }

    private static var isRecording: Bool { ProcessInfo.processInfo.environment["EVENT_BRIDGE_RECORD_GOLDEN"] != nil }

    /// Sixteen bytes a line, below a line that says what they are.
    private static func text(of golden: Golden) -> String {
        var text = "# \(golden.remark).\n"
        for start in stride(from: 0, to: golden.bytes.count, by: 16) {
            let line = golden.bytes[start..<min(start + 16, golden.bytes.count)]
            text += line.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ") + "\n"
        }
        return text
    }

    private static func bytes(in text: String) throws -> [UInt8] {
        try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.flatMap { $0.split(separator: " ") }
            .map { try #require(UInt8($0, radix: 16)) }
    }

    @Test("a frame has the bytes of its golden file, and they are read back as the same frame", arguments: goldens)
    func compare(golden: Golden) throws {
        let file = Self.directory.appending(path: golden.file + ".hex")
        if Self.isRecording {
            try FileManager.default.createDirectory(at: Self.directory, withIntermediateDirectories: true)
            try Data(Self.text(of: golden).utf8).write(to: file)
        }
        let recorded = try Self.bytes(in: String(decoding: Data(contentsOf: file), as: UTF8.self))
        #expect(recorded == golden.bytes)
        let declared = recorded.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        #expect(declared == recorded.count - 4)
        switch golden.content {
        case .message(let message):
            #expect(try decodeMessage(bodyOf(recorded)) == message)
        case .event(let head, let payload):
            let decoded = try decodeEvent(bodyOf(recorded))
            #expect(decoded.head == head)
            #expect(decoded.payload == payload)
        case .gap(let gap):
            let decoded = try bodyOf(recorded).withUnsafeBytes { try GapFrame(decoding: $0, limits: LinkLimits()) }
            #expect(decoded == gap)
        case .placed(let placed):
            #expect(try bodyOf(recorded).withUnsafeBytes { try PlacedFrame(decoding: $0) } == placed)
        }
    }

    @Test("every kind of frame has a golden file, and every golden file is looked at")
    func complete() throws {
        let kinds = Set(
            Self.goldens.compactMap { golden in bodyOf(golden.bytes).withUnsafeBytes { ControlMessage.kind(of: $0) } }
        )
        #expect(kinds == Set(FrameKind.allCases.map(\.rawValue)))
        guard !Self.isRecording else { return }
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        #expect(Set(files) == Set(Self.goldens.map { $0.file + ".hex" }))
    }
}

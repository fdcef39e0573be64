import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private struct Note: Codable, Sendable, Equatable {
    let id: Int64
    let title: String

    static let coder = LaidOutCoder(EventLayout(Self.init(id:title:), .field("id", \.id), .field("title", \.title)))
}

private struct Task: Codable, Sendable {
    enum Mood: String, Codable { case calm, cross }

    let title: String
    var note: String?
    let priority: UInt8
    var due: Date?
    let mood: Mood

    static let coder = LaidOutCoder(
        EventLayout(
            Self.init(title:note:priority:due:mood:),
            .field("title", \.title),
            .field("note", \.note),
            .field("priority", \.priority),
            .field("due", \.due),
            .field("mood", \.mood)
        )
    )
}

/// A field of every kind, and more than a map's shortest head can count.
private struct Everything: Codable, Sendable {
    var flag = true
    var int = Int.min
    var int8 = Int8(-128)
    var int16 = Int16(-300)
    var int32 = Int32(70_000)
    var int64 = Int64.max
    var uint = UInt(23)
    var uint8 = UInt8(24)
    var uint16 = UInt16(256)
    var uint32 = UInt32.max
    var uint64 = UInt64.max
    var float = Float(1.5)
    var double = 0.1
    var text = "größer als ASCII"
    var longer = String(repeating: "long ", count: 60)
    var optionalInt: Int? = 5
    var optionalText: String? = "x"
    var optionalFlag: Bool?
    var doublyOptional: Int??
    var numbers = [1, -1, 1_000]
    var bytes: [UInt8] = [0, 255]
    var texts = ["a", "", "größer"]
    var date = Date(timeIntervalSince1970: 1.5)
    var data = Data([1, 2, 3])
    var id = UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")
    var url = URL(string: "https://example.org")
    var price = Decimal(string: "-1.25")
    var note = Note(id: 1, title: "inside")
    var notes: [Note]? = [Note(id: 2, title: "listed")]
    var map = ["k": [1, 2]]

    static let coder = LaidOutCoder(
        EventLayout(
            Self.init,
            .field("flag", \.flag),
            .field("int", \.int),
            .field("int8", \.int8),
            .field("int16", \.int16),
            .field("int32", \.int32),
            .field("int64", \.int64),
            .field("uint", \.uint),
            .field("uint8", \.uint8),
            .field("uint16", \.uint16),
            .field("uint32", \.uint32),
            .field("uint64", \.uint64),
            .field("float", \.float),
            .field("double", \.double),
            .field("text", \.text),
            .field("longer", \.longer),
            .field("optionalInt", \.optionalInt),
            .field("optionalText", \.optionalText),
            .field("optionalFlag", \.optionalFlag),
            .field("doublyOptional", \.doublyOptional),
            .field("numbers", \.numbers),
            .field("bytes", \.bytes),
            .field("texts", \.texts),
            .field("date", \.date),
            .field("data", \.data),
            .field("id", \.id),
            .field("url", \.url),
            .field("price", \.price),
            .field("note", \.note),
            .field("notes", \.notes),
            .field("map", \.map)
        )
    )
}

/// A value whose initializer refuses values that `Codable` would take.
private struct Range: Codable, Sendable {
    struct IsEmpty: Error, CustomStringConvertible { let description = "the range is empty" }

    let lower: Int
    let upper: Int

    init(lower: Int, upper: Int) throws {
        guard lower <= upper else { throw IsEmpty() }
        self.lower = lower
        self.upper = upper
    }

    static let coder = LaidOutCoder(
        EventLayout(Self.init(lower:upper:), .field("lower", \.lower), .field("upper", \.upper))
    )
}

/// A field that counts its living instances, and can be told to fail or to write out of order.
private final class Counted: Codable, Sendable {
    nonisolated(unsafe) static var living = 0
    nonisolated(unsafe) static var reentrant: CBOREncoder?

    let name: String

    init(_ name: String) {
        self.name = name
        Counted.living += 1
    }

    convenience init(from decoder: any Decoder) throws {
        self.init(try decoder.container(keyedBy: AnyKey.self).decode(String.self, forKey: AnyKey("name")))
    }

    deinit { Counted.living -= 1 }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: AnyKey.self)
        if name == "out of order" {
            var nested = container.nestedUnkeyedContainer(forKey: AnyKey("nested"))
            try container.encode(name, forKey: AnyKey("name"))
            try nested.encode(1)
            return
        }
        if let reentrant = Counted.reentrant {
            let buffer = CBORBuffer()
            try Note.coder.encode(Note(id: 1, title: name), into: buffer, with: reentrant)
            #expect(try Note.coder.decode(from: buffer.bytes, with: CBORDecoder()).title == name)
        }
        try container.encode(name, forKey: AnyKey("name"))
        if name == "failing" { throw CancellationError() }
    }
}

private struct Pair: Codable, Sendable {
    let first: Counted
    let number: Int
    let text: String
    let second: Counted?

    static let coder = LaidOutCoder(
        EventLayout(
            Self.init(first:number:text:second:),
            .field("first", \.first),
            .field("number", \.number),
            .field("text", \.text),
            .field("second", \.second)
        )
    )
}

/// Reads bytes both ways and compares the results: the same value, or exactly the same error.
private func compare<Event: Codable>(
    _ coder: LaidOutCoder<Event>,
    _ bytes: [UInt8],
    limits: CBORLimits = .standard
) throws {
    let decoder = CBORDecoder(limits: limits)
    let expected = Result { try CBOREncoder().encode(decoder.decode(Event.self, from: bytes)) }
    let found = Result { try CBOREncoder().encode(coder.decode(from: bytes, with: decoder)) }
    switch (expected, found) {
    case (.success(let one), .success(let other)): #expect(one == other, "\(bytes.hexadecimal)")
    case (.failure(let one), .failure(let other)):
        #expect(one as? CBORError == other as? CBORError, "\(bytes.hexadecimal)")
    default: Issue.record("\(bytes.hexadecimal): \(expected) but \(found)")
    }
}

@Suite("Events with a layout", .serialized)
struct LayoutTests {
    private var full: Task {
        Task(title: "a", note: "b", priority: 3, due: Date(timeIntervalSince1970: 9), mood: .cross)
    }
    private var sparse: Task { Task(title: "a", note: nil, priority: 3, due: nil, mood: .calm) }

    /// A generic value lies in one place for all threads that share it; the thread sanitizer sees a write there.
    @Test("Threads may write one event at once", .timeLimit(.minutes(5)))
    func sharedByThreads() async {
        func write<Event: Codable & Sendable>(_ event: Event, by coder: LaidOutCoder<Event>) async {
            let written = Collected<[UInt8]>()
            await onThreads(2) { _ in
                let (buffer, encoder) = (CBORBuffer(), CBOREncoder())
                for _ in 0..<100 {
                    buffer.removeAll()
                    try? coder.encode(event, into: buffer, with: encoder)
                }
                written.add(Array(buffer.bytes))
            }
            #expect(written.all.count == 2 && Set(written.all).count == 1 && written.all[0].count > 40)
        }
        await write(Note(id: 1, title: String(repeating: "x", count: 40)), by: Note.coder)
    }

    @Test("are written and read as by Codable, whatever their fields are")
    func agreement() throws {
        #expect(try Note.coder.mismatch(for: Note(id: -5, title: "sixteen-chars-ab")) == nil)
        #expect(try Task.coder.mismatch(for: full) == nil)
        #expect(try Task.coder.mismatch(for: sparse) == nil)
        #expect(try Everything.coder.mismatch(for: Everything()) == nil)
        let rest = Everything(
            optionalInt: nil,
            optionalText: nil,
            optionalFlag: false,
            doublyOptional: .some(nil),
            numbers: [],
            notes: nil
        )
        #expect(try Everything.coder.mismatch(for: rest) == nil)
        #expect(try Range.coder.mismatch(for: Range(lower: 1, upper: 2)) == nil)
        #expect(try Pair.coder.mismatch(for: Pair(first: Counted("a"), number: 1, text: "t", second: nil)) == nil)
    }

    @Test("append to what a buffer holds, event after event")
    func manyEvents() throws {
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        let buffer = CBORBuffer(minimumCapacity: 16)
        for number in 0..<200 {
            let note = Note(id: Int64(1) << (number % 63), title: String(repeating: "t", count: number))
            let start = buffer.count
            try Note.coder.encode(note, into: buffer, with: encoder)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[start...])
            #expect(Array(bytes) == (try encoder.encode(note)))
            #expect(try Note.coder.decode(from: bytes, with: decoder) == note)
        }
    }

    @Test(
        "take and refuse what Codable does, with the same words",
        arguments: [
            "", "a0", "a1626964", "a16269640a", "a16269640a00", "80", "f6", "01", "a2626964", "bfff",
            "a262696401657469746c656178", "a2657469746c65617862696401", "a362696401657469746c6561786178f6",
            "a362696401617801657469746c656178", "bf62696401657469746c656178ff", "bf657469746c657f61786179ff62696401ff",
            "a2780269640165" + "7469746c656178", "a27f61696164ff0165" + "7469746c656178",
            "d9d9f7a262696401657469746c656178",
            "a262696401657469746c65f6", "a2626964f6657469746c656178", "a262696461786574697" + "46c656178",
            "a262696401657469746c6501", "a262696401657469746c6561ff", "a262696401657469746c6562c3a4",
            "a262696401657469746c6561780000", "a26269640162696402", "a3626964016269640265" + "7469746c656178",
            "a26269641bffffffffffffffff657469746c656178", "a26269643bffffffffffffffff657469746c656178",
            "a262696418ff657469746c657818" + String(repeating: "78", count: 24),
            "a262696418ff657469746c65790018" + String(repeating: "78", count: 24),
            "a262696419ffff657469746c657818" + String(repeating: "78", count: 23) + "ff",
            "a262696401657469746c65d8206178", "a2626964d9d9f701657469746c656178", "a26269640165746974" + "6c657b00",
        ]
    )
    func inputs(hex: String) throws {
        try compare(Note.coder, [UInt8](hexadecimal: hex))
    }

    @Test("read their fields in any order, among others, and with some missing")
    func permutations() throws {
        guard case .map(var entries) = try CBORValue(decoding: CBOREncoder().encode(full)) else { return }
        var random = SeededGenerator.announced()
        entries.append(.init(key: "extra", value: .array([1, .map([.init(key: "title", value: 2)])])))
        entries.append(.init(key: 7, value: .null))
        for _ in 0..<300 {
            let some = entries.shuffled(using: &random).prefix(Int.random(in: 0...entries.count, using: &random))
            try compare(Task.coder, CBORValue.map(Array(some)).encoded())
            let nulls = some.map { entry in
                CBORValue.Entry(key: entry.key, value: Bool.random(using: &random) ? .null : entry.value)
            }
            try compare(Task.coder, CBORValue.map(nulls).encoded())
        }
    }

    @Test("agree with Codable about mutants")
    func mutants() throws {
        var random = SeededGenerator.announced()
        let encoder = CBOREncoder()
        func mutate<Event: Codable>(_ event: Event, _ coder: LaidOutCoder<Event>, _ count: Int) throws {
            let bytes = try encoder.encode(event)
            for length in 0..<bytes.count { try compare(coder, Array(bytes.prefix(length))) }
            for _ in 0..<count {
                var mutant = bytes
                for _ in 0..<Int.random(in: 1...2, using: &random) {
                    mutant[Int.random(in: 0..<mutant.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                try compare(coder, mutant)
            }
        }
        try mutate(Note(id: 70_000, title: "title"), Note.coder, 5_000)
        try mutate(full, Task.coder, 5_000)
        try mutate(Everything(), Everything.coder, 1_000)
    }

    @Test("keep to the limits of their coders")
    func limits() throws {
        let bytes = try CBOREncoder().encode(Note(id: 1, title: "t"))
        for items in 1...6 { try compare(Note.coder, bytes, limits: CBORLimits(maximumItems: items)) }
        struct List: Codable, Sendable {
            let numbers: [Int]
            static let coder = LaidOutCoder(EventLayout(Self.init(numbers:), .field("numbers", \.numbers)))
        }
        let list = List(numbers: [1, 2])
        for depth in 1...3 {
            let limits = CBORLimits(maximumDepth: depth)
            try compare(List.coder, try CBOREncoder().encode(list), limits: limits)
            let buffer = CBORBuffer()
            let expected = Result { try CBOREncoder(limits: limits).encode(list) }
            let found = Result { try List.coder.encode(list, into: buffer, with: CBOREncoder(limits: limits)) }
            switch (expected, found) {
            case (.success(let bytes), .success): #expect(buffer.copied() == bytes)
            case (.failure(let one), .failure(let other)): #expect(one as? CBORError == other as? CBORError)
            default: Issue.record("\(expected) but \(found)")
            }
        }
    }

    @Test("are made by their own initializer, whose refusal is told")
    func initializer() throws {
        let refused = try CBORValue.map([.init(key: "lower", value: 2), .init(key: "upper", value: 1)]).encoded()
        let error = cborError { _ = try Range.coder.decode(from: refused, with: CBORDecoder()) }
        #expect(error?.code == .invalidValue("the range is empty"))
        #expect(try CBORDecoder().decode(Range.self, from: refused).lower == 2)
    }

    @Test("leave nothing behind, read or refused")
    func lifetimes() throws {
        #expect(Counted.living == 0)
        let pair = try CBOREncoder().encode(
            Pair(first: Counted("a"), number: 1, text: "not inline: too long", second: Counted("b"))
        )
        #expect(Counted.living == 0)
        let decoder = CBORDecoder()
        for index in pair.indices {
            for byte in [UInt8(0x00), 0x60, 0xA0, 0xFF, 0xF6] {
                var mutant = pair
                mutant[index] = byte
                _ = try? Pair.coder.decode(from: mutant, with: decoder)
                #expect(Counted.living == 0)
            }
        }
        let read = try Pair.coder.decode(from: pair, with: decoder)
        #expect(Counted.living == 2)
        #expect(read.second?.name == "b")
    }

    @Test("fall back on Codable when a field is in trouble")
    func trouble() throws {
        let encoder = CBOREncoder()
        let buffer = CBORBuffer()
        buffer.append(0x2A)
        let failing = Pair(first: Counted("a"), number: 1, text: "t", second: Counted("failing"))
        #expect(throws: CancellationError.self) { try Pair.coder.encode(failing, into: buffer, with: encoder) }
        #expect(buffer.copied() == [0x2A])
        let late = Pair(first: Counted("out of order"), number: 1, text: "t", second: Counted("out of order"))
        try Pair.coder.encode(late, into: buffer, with: encoder)
        #expect(buffer.copied() == [0x2A] + (try encoder.encode(late)))
        Counted.reentrant = encoder
        defer { Counted.reentrant = nil }
        #expect(try Pair.coder.mismatch(for: Pair(first: Counted("a"), number: 1, text: "t", second: nil)) == nil)
        buffer.removeAll()
        try Pair.coder.encode(Pair(first: Counted("a"), number: 1, text: "t", second: nil), into: buffer, with: encoder)
        #expect(try Pair.coder.decode(from: buffer.bytes, with: CBORDecoder()).first.name == "a")
    }

    @Test("with a wrong layout are found out")
    func mismatches() throws {
        let note = Note(id: 1, title: "t")
        let swapped = LaidOutCoder<Note>(
            EventLayout({ Note(id: $1, title: $0) }, .field("title", \.title), .field("id", \.id))
        )
        #expect(
            try swapped.mismatch(for: note)
                == "The layout of Note writes the field \"title\" where Codable has \"id\""
        )
        let short = LaidOutCoder<Note>(EventLayout({ Note(id: $0, title: "") }, .field("id", \.id)))
        #expect(try short.mismatch(for: note) == "The layout of Note writes 1 fields where Codable has 2")
        let other = LaidOutCoder<Note>(
            EventLayout({ Note(id: $0 + 1, title: $1) }, .field("id", \.id), .field("title", \.title))
        )
        #expect(
            try other.mismatch(for: note)
                == "The layout of Note makes another event, which has the field \"id\" differently from Codable"
        )
    }
}

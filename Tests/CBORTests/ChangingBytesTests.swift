import BridgeProtocol
import CBOR
import DomainEvents
import FuzzTargets
import Locks
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The act that happens while a ``Shake`` is decoded.
private final class Happening: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    static let current = Happening()

    private let lock = Lock()
    private var body: (@Sendable () -> Void)?

    func set(_ body: (@Sendable () -> Void)?) {
        lock.withLock { self.body = body }
    }

    func happen() {
        lock.withLock { body }?()
    }
}

/// A field during whose decoding something else happens.
private struct Shake: Codable, Sendable {
    init() {}

    init(from decoder: any Decoder) throws {
        Happening.current.happen()
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(true)
    }
}

/// A field of every kind behind one during which the bytes change.
private struct Shaken: Codable, Sendable {
    enum Change: Codable, Sendable { case saved(Int) }

    var shake = Shake()
    var small = 1
    var number = 70_000
    var text = "text"
    var long = String(repeating: "l", count: 30)
    var flag: Bool? = true
    var double = 0.1
    var numbers: [Int] = [1, 300]
    var texts = ["a", "b"]
    var change = Change.saved(5)
    var date = Date(timeIntervalSince1970: 1.5)
    var data = Data([1, 2, 3])
    var price = Decimal(string: "1.25")
    var map: [String: Int] = ["k": 1, "l": 2]
    var last: Int64 = 9

    static let coder = LaidOutCoder(
        EventLayout(
            Self.init,
            .field("shake", \.shake),
            .field("small", \.small),
            .field("number", \.number),
            .field("text", \.text),
            .field("long", \.long),
            .field("flag", \.flag),
            .field("double", \.double),
            .field("numbers", \.numbers),
            .field("texts", \.texts),
            .field("change", \.change),
            .field("date", \.date),
            .field("data", \.data),
            .field("price", \.price),
            .field("map", \.map),
            .field("last", \.last)
        )
    )
}

/// The place of the bytes; one thread at a time has it.
private struct Place: @unchecked Sendable {
    // @unchecked: the test's thread is the only one.
    let bytes: UnsafeMutableRawBufferPointer
}

/// Input that another process changes after its check, which is possible in memory that two processes share.
@Suite("Bytes that change between their check and their use", .serialized)
struct ChangingBytesTests {
    private static let replacements: [UInt8] = [
        0x00, 0x17, 0x18, 0x1B, 0x3B, 0x57, 0x58, 0x5B, 0x5F, 0x77, 0x78, 0x79, 0x7B, 0x7F, 0x97, 0x9B, 0x9F, 0xB7,
        0xB8, 0xBB, 0xBF, 0xC4, 0xD9, 0xDB, 0xF8, 0xFB, 0xFF,
    ]

    /// The keys in the order of the requests, backwards, and in a map of indefinite length.
    private static func forms() throws -> [[UInt8]] {
        let plain = try CBOREncoder().encode(Shaken())
        guard case .map(let entries) = try CBORValue(decoding: plain) else { return [] }
        var endless: [UInt8] = [0xBF]
        for entry in entries {
            endless += try entry.key.encoded() + (try entry.value.encoded())
        }
        return [plain, try CBORValue.map([entries[0]] + entries.dropFirst().reversed()).encoded(), endless + [0xFF]]
    }

    @Test("are read or refused, and nothing behind them is", .timeLimit(.minutes(5)), arguments: [false, true])
    func changing(isLaidOut: Bool) throws {
        var random = SeededGenerator.announced()
        let decoder = CBORDecoder()
        var refused = 0
        for form in try Self.forms() {
            let memory = try GuardedBytes(form)
            let place = Place(bytes: memory.bytes)
            for _ in 0..<rounds(100_000) / 40 {
                let index = Int.random(in: form.indices, using: &random)
                let replacement = Self.replacements.randomElement(using: &random) ?? 0
                Happening.current.set { place.bytes[index] = replacement }
                let bytes = UnsafeRawBufferPointer(memory.bytes)
                let event =
                    isLaidOut
                    ? try? Shaken.coder.decode(from: bytes, with: decoder)
                    : try? decoder.decode(Shaken.self, from: bytes)
                if event == nil { refused += 1 }
                memory.bytes[index] = form[index]
            }
        }
        Happening.current.set(nil)
        #expect(refused > rounds(100_000) / 100)
    }
}

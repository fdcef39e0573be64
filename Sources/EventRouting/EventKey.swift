import BridgeProtocol
import CBOR
package import DomainEvents
import Locks

/// How the key of a pool's events is found; the key chooses the member for an event.
package enum EventKey: Sendable {
    /// The value of a top-level field of the payload.
    case field(String)
    /// The result of a function of the event.
    case found(any EventKeyFinder)
    /// There is no key: the event goes to the least busy member.
    case anyMember
    /// The event goes to all members.
    case everyMember
}

/// Finds the key of events whose type this process knows.
package protocol EventKeyFinder: AnyObject, Sendable {
    var eventType: any DomainEvent.Type { get }

    /// The place of an encoded event's key; nil if the event cannot be decoded, or has no key.
    func place(of payload: UnsafeRawBufferPointer) -> KeyPlace?
}

/// Finds the key of one type's events.
package final class TypedKeyFinder<E: DomainEvent>: EventKeyFinder {
    private let coder = PayloadCoder<E>()
    private let encode: @Sendable (E, CBOREncoder, CBORBuffer) throws -> Void

    /// - Parameter encode: appends the event's key, encoded.
    package init<Key: Encodable & SendableMetatype>(_ key: @escaping @Sendable (E) -> Key) {
        encode = { event, encoder, buffer in try encoder.encode(key(event), into: buffer) }
    }

    package var eventType: any DomainEvent.Type { E.self }

    func place(ofEvent event: E) -> KeyPlace? {
        KeyScratch.current.withBuffer { encoder, buffer in
            guard (try? encode(event, encoder, buffer)) != nil else { return nil }
            return KeyPlace(buffer.bytes)
        }
    }

    package func place(of payload: UnsafeRawBufferPointer) -> KeyPlace? {
        // The receiver of the event reports why it cannot be decoded.
        let scratch = PayloadScratch.current.takeUnretainedValue()
        guard let event = try? coder.decode(payload, with: scratch.decoder) else { return nil }
        return place(ofEvent: event)
    }
}

/// The place of a key among all keys, spread evenly and the same in every process; an integer, or a text or byte string
/// of definite length, has the same place in all its encodings.
package struct KeyPlace: Sendable, Hashable {
    private let hash: UInt64

    /// How many bytes of a key are hashed at most; the key's length counts too.
    private static let hashedBytes = 1_024

    /// Makes the place of a key; nil for null and undefined, which are no keys, and for bytes that begin no CBOR item.
    ///
    /// - Parameter key: the key, encoded.
    package init?(_ key: UnsafeRawBufferPointer) {
        var reader = CBORReader(key)
        guard let head = try? reader.readHead() else { return nil }
        switch head.majorType {
        case .unsigned, .negative:
            hash = Self.mix(head.argument &+ UInt64(head.majorType.rawValue) &* 0x9E37_79B9_7F4A_7C15)
        case .simpleOrFloat where key[0] == 0xF6 || key[0] == 0xF7: return nil
        case .text, .bytes:
            // The encoder chooses how many bytes the length takes, so the head does not count.
            let content = head.isIndefinite ? key[...] : key[reader.position...]
            hash = Self.hash(content, startingFrom: UInt64(head.majorType.rawValue))
        default: hash = Self.hash(key[...], startingFrom: 0xFF)
        }
    }

    /// An index below `count`; equal places have equal indices.
    func index(among count: Int) -> Int { Int(hash.multipliedFullWidth(by: UInt64(count)).high) }

    /// Hashes bytes by FNV-1a, which suits short keys.
    private static func hash(_ bytes: Slice<UnsafeRawBufferPointer>, startingFrom start: UInt64) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ start
        for byte in bytes.prefix(hashedBytes) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return mix(hash ^ UInt64(bytes.count))
    }

    /// The finalizer of SplitMix64, which puts neighbours far apart.
    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A thread's encoder and buffer for keys; the encoder and buffer for events may be in use while a key is found.
private final class KeyScratch {
    private let encoder = CBOREncoder()
    private let buffer = CBORBuffer(minimumCapacity: 64)
    @exclusivity(unchecked) private var isInUse = false

    private static var slot: ThreadSpecific<KeyScratch> { ThreadSpecific(.keyScratch) }

    static var current: KeyScratch {
        if let existing = slot.value { return existing }
        let made = KeyScratch()
        slot.value = made
        return made
    }

    /// Calls `body` with the scratch, or with a temporary scratch if the scratch is in use: the user's code that finds
    /// a key may publish.
    func withBuffer<R>(_ body: (CBOREncoder, CBORBuffer) -> R) -> R {
        guard !isInUse else { return KeyScratch().withBuffer(body) }
        isInUse = true
        defer {
            buffer.removeAll()
            isInUse = false
        }
        return body(encoder, buffer)
    }
}

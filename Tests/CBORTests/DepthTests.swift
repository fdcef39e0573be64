import BridgePlatform
import CBOR
import Testing

/// Carries the findings of a thread to the thread that waits for it.
private final class Findings: @unchecked Sendable {
    // @unchecked: written by the thread, and read when it has ended.
    var error: (any Error)?
    var count = 0
}

/// Runs `body` on a thread with the smallest stack that the systems give to threads.
private func withSmallStack(_ body: @escaping @Sendable () throws -> Int) throws -> Int {
    let findings = Findings()
    // A sanitizer makes each frame several times as large.
    let isSanitized = !CurrentProcess.sanitizerOptions.isEmpty
    let stackSize = isSanitized ? 4 << 20 : 512 << 10
    let thread = try PlatformThread.startJoinable(name: "small stack", stackSize: stackSize) {
        do {
            findings.count = try body()
        } catch {
            findings.error = error
        }
    }
    thread.join()
    if let error = findings.error { throw error }
    return findings.count
}

/// A value that nests as deep as the input does.
private struct Chain: Codable {
    var next: [Chain]

    /// Each link takes a map and an array.
    static func of(_ links: Int) -> Chain {
        (1..<links).reduce(Chain(next: [])) { chain, _ in Chain(next: [chain]) }
    }
}

/// How deep input may nest, whatever it nests by, with little stack.
@Suite("Nesting")
struct DepthTests {
    /// The bytes that open each level.
    private static let units = ["81", "a100", "c6", "9f", "bf00", "81c6a1009f", "d9d9f781", "a18100"]

    @Test("D10: a mebibyte of openings is refused at the limit, on 512 KiB of stack", arguments: units)
    func refused(unit: String) throws {
        var openings = [UInt8](hexadecimal: unit)
        while openings.count < 1 << 20 { openings += openings }
        let bytes = openings
        let refusals = try withSmallStack {
            var refusals = 0
            for depth in [1, 64] {
                let limits = CBORLimits(maximumDepth: depth)
                let codes = [
                    refusal(of: bytes, limits: limits)?.code,
                    cborError { _ = try CBORDecoder(limits: limits).decode(Nest.self, from: bytes) }?.code,
                    cborError { _ = try CBORDecoder(limits: limits).decode([String: [Int]].self, from: bytes) }?.code,
                ]
                refusals += codes.count { $0 == .depthExceeded(limit: depth) }
            }
            return refusals
        }
        #expect(refusals == 6)
    }

    @Test(
        "D10: what nests up to the limit is read, compared, written and let go, on 512 KiB of stack",
        arguments: [64, 128]
    )
    func accepted(depth: Int) throws {
        let arrays = [UInt8](repeating: 0x81, count: depth) + [0]
        let tags = [UInt8](repeating: 0xC6, count: depth) + [0]
        let maps = Array(repeatElement([0xA1, 0x00] as [UInt8], count: depth).joined()) + [0]
        let endless = [UInt8](repeating: 0x9F, count: depth) + [UInt8](repeating: 0xFF, count: depth)
        let read = try withSmallStack {
            let limits = CBORLimits(maximumDepth: depth)
            var read = 0
            for bytes in [arrays, tags, maps, endless] {
                let value = try CBORValue(decoding: bytes, limits: limits)
                var hasher = Hasher()
                hasher.combine(value)
                let again = try CBORValue(decoding: try value.encoded(limits: limits), limits: limits)
                if again == value { read += 1 }
            }
            return read
        }
        #expect(read == 4)
    }

    @Test("D10: a value that nests up to the limit is encoded and decoded, and not one level more")
    func typed() throws {
        let deepest = try withSmallStack {
            let bytes = try CBOREncoder().encode(Chain.of(32))
            return try CBOREncoder().encode(try CBORDecoder().decode(Chain.self, from: bytes)).count
        }
        #expect(deepest == 32 * 7)
        let error = cborError { _ = try CBOREncoder().encode(Chain.of(33)) }
        #expect(error?.code == .depthExceeded(limit: 64))
        #expect(error?.path.hasPrefix("next[0].next[0]") == true)
    }
}

import BridgePlatform
import CBOR
import DomainEvents
import JSONText
import Testing

@testable import BridgeProtocol

@Suite("Payloads that are shown or translated")
struct ShownPayloadTests {
    /// Payloads that take little of the frame's limit, and many times as much memory or text.
    enum Swelling: CaseIterable, Sendable {
        case emptyArrays
        case nulls
        case nestedArrays
        case emptyMaps
        case controlCharacters
        case controlCharactersInAKey

        /// One item of about so many bytes.
        func payload(of count: Int) -> [UInt8] {
            func head(_ major: UInt8, _ count: Int) -> [UInt8] {
                [major << 5 | 26] + withUnsafeBytes(of: UInt32(count).bigEndian, Array.init)
            }
            func array(of element: UInt8) -> [UInt8] { head(4, count) + repeatElement(element, count: count) }
            switch self {
            case .emptyArrays: return array(of: 0x80)
            case .nulls: return array(of: 0xF6)
            case .nestedArrays:
                return head(4, count / 4) + repeatElement([0x81, 0x81, 0x81, 0x80], count: count / 4).joined()
            case .emptyMaps: return array(of: 0xA0)
            case .controlCharacters: return head(3, count) + repeatElement(1, count: count)
            case .controlCharactersInAKey: return [0xA1, 0x81] + head(3, count) + repeatElement(1, count: count) + [0]
            }
        }

        var reason: ShownPayload.Reason {
            switch self {
            case .emptyArrays, .nulls, .nestedArrays, .emptyMaps: .hasTooManyValues
            case .controlCharacters, .controlCharactersInAKey: .growsInJSON
            }
        }
    }

    @Test("one that takes many times its bytes as a tree or in JSON is shown as bytes", arguments: Swelling.allCases)
    func swelling(_ swelling: Swelling) {
        let payload = swelling.payload(of: 1 << 20)
        #expect(payload.withUnsafeBytes { ShownPayload($0) } == .bytes(payload, because: swelling.reason))
    }

    @Test("what an honest event has is shown whatever it is made of", arguments: Swelling.allCases)
    func small(_ swelling: Swelling) {
        let payload = swelling.payload(of: 10_000)
        guard case .value = payload.withUnsafeBytes({ ShownPayload($0) }) else {
            Issue.record("a payload of \(payload.count) bytes is not shown")
            return
        }
    }

    @Test(
        "one with keys that are one in JSON is shown as bytes, however deep they lie",
        arguments: [
            [0xA2, 0x01, 0x01, 0x61, 0x31, 0x02], [0xA2, 0xF6, 0x01, 0x64, 0x6E, 0x75, 0x6C, 0x6C, 0x02],
            [0x81, 0xA1, 0x61, 0x61, 0xC1, 0xA2, 0x01, 0x01, 0x61, 0x31, 0x02],
        ]
    )
    func twins(payload: [UInt8]) {
        #expect(payload.withUnsafeBytes { ShownPayload($0) } == .bytes(payload, because: .hasTwinKeysInJSON))
    }

    @Test("one with numbers for keys is shown")
    func numbersAsKeys() throws {
        let payload: [UInt8] = [0xA3, 0x01, 0x01, 0x02, 0x02, 0x61, 0x33, 0x03]
        guard case .value(let value) = payload.withUnsafeBytes({ ShownPayload($0) }) else {
            Issue.record("it is not shown")
            return
        }
        #expect(JSONWriter().text(value) == #"{"1":1,"2":2,"3":3}"#)
    }

    @Test("one of long texts is shown, with as many line breaks and quotes as it has bytes")
    func longTexts() {
        let text = String(repeating: "\"\n", count: 1 << 19)
        let payload = [0x7A] + withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian, Array.init) + text.utf8
        #expect(payload.withUnsafeBytes { ShownPayload($0) } == .value(.text(text)))
    }

    @Test(
        "a payload of megabytes takes at most four times its bytes, and a constant, until it is written",
        .timeLimit(.minutes(5))
    )
    func memory() async {
        guard CurrentProcess.heapBytesInUse() != nil else {
            print("not tested: S7 memory of a payload, as a sanitizer takes several times as much")
            return
        }
        await #expect(processExitsWith: .success) {
            let size = 1 << 22
            let (most, before) = (4 * size + (32 << 20), CurrentProcess.peakResidentBytes())
            for swelling in [Swelling.emptyArrays, .controlCharacters] {
                let payload = swelling.payload(of: size)
                var line: [UInt8] = []
                CloudEvent(
                    name: "Swelling",
                    context: EventContext(
                        id: EventID(origin: "w", incarnation: 1, number: 1),
                        nanosecondsSinceEpoch: 0
                    ),
                    source: "w",
                    payload: payload.withUnsafeBytes { ShownPayload($0) }
                ).write(to: &line)
                let taken = CurrentProcess.peakResidentBytes() - before
                guard taken <= most, line.count <= 2 * size else {
                    CurrentProcess.report("\(swelling): \(taken) bytes of memory, \(line.count) of JSON")
                    CurrentProcess.exitImmediately(1)
                }
            }
        }
    }
}

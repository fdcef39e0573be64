import BridgeProtocol
import CBOR
import TestSupport
import Testing

@Suite("Control messages")
struct ControlMessageTests {
    private func refusal(_ body: [UInt8], limits: LinkLimits = LinkLimits()) -> String {
        do {
            let message = try decodeMessage(body, limits: limits)
            return "accepted: \(String(describing: message))"
        } catch {
            return String(describing: error)
        }
    }

    @Test("every message comes back as it was", arguments: sampleMessages)
    func roundTrip(message: ControlMessage) throws {
        let whole = frame(message)
        #expect(
            try whole.withUnsafeBytes { try FrameDecoder(limit: 1 << 16).next(in: $0) } == .frame(length: whole.count)
        )
        #expect(try decodeMessage(bodyOf(whole)) == message)
        #expect(bodyOf(whole).withUnsafeBytes { ControlMessage.kind(of: $0) } == UInt64(whole[5]))
    }

    @Test("random messages come back as they were")
    func randomRoundTrips() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<2_000 {
            let message = randomMessage(&random)
            #expect(try decodeMessage(bodyOf(frame(message))) == message, "seed \(random.seed)")
        }
    }

    private func randomMessage(_ random: inout SeededGenerator) -> ControlMessage {
        func number() -> UInt64 {
            UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0...63, using: &random)
        }
        func text() -> String {
            String(
                (0..<Int.random(in: 1...30, using: &random)).compactMap { _ in
                    "abz\u{E9}\u{1F600}\"\n".randomElement(using: &random)
                }
            )
        }
        switch Int.random(in: 0...7, using: &random) {
        case 0:
            var ranges: [ClosedRange<UntrustedNumber>] = []
            var last: UInt64 = 10
            for _ in 0..<Int.random(in: 0...64, using: &random) {
                let first = last + UInt64.random(in: 2...9, using: &random)
                last = first + UInt64.random(in: 0...9, using: &random)
                ranges.append(ClosedRange(first...last))
            }
            return .acknowledge(Acknowledgement(mark: 10, ranges: ranges, after: number()), incarnation: number())
        case 1:
            let wanted = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Interest.Name(number: number(), name: text())
            }
            return .interest(
                Interest(wanted: wanted, unwanted: (0..<Int.random(in: 0...40, using: &random)).map { _ in number() })
            )
        case 6: return .moreTime(milliseconds: UntrustedNumber(number()), reason: text())
        case 2: return .refuse(Refusal(sequence: number(), reason: number(), text: text()))
        case 3: return .goodbye(Goodbye(reason: number(), text: text(), lastWritten: number(), handledMark: number()))
        case 4: return .heartbeat
        case 5:
            let ids: [WireID] = [
                .sender(number: number()), .receiver(number: number()),
                .other(origin: "a", incarnation: number(), number: number()),
            ]
            return .receipt(
                Receipt(
                    id: ids.randomElement(using: &random) ?? ids[0],
                    process: "canvas",
                    outcome: number(),
                    handlers: number(),
                    text: text(),
                    passedOnTo: (0..<Int.random(in: 0...5, using: &random)).map { "worker \($0)" }
                )
            )
        default:
            let report: [UInt8]? = Bool.random(using: &random) ? [1, 2] : nil
            return .reject(Reject(reason: number(), text: text(), report: report))
        }
    }

    @Test("elements behind the known ones are ignored", arguments: sampleMessages)
    func extraElements(message: ControlMessage) throws {
        var grown = bodyOf(frame(message))
        grown[0] += 2
        grown += body { writer in
            writer.mapHead(1)
            writer.text("later")
            writer.arrayHead(0)
            writer.floatingPoint(1.5)
        }
        #expect(try decodeMessage(grown) == message)
    }

    @Test("more than 23 elements are no obstacle")
    func manyElements() throws {
        let grown = body { writer in
            writer.arrayHead(30)
            writer.unsigned(14)
            for number in 0..<29 { writer.unsigned(UInt64(number)) }
        }
        #expect(try decodeMessage(grown) == .drain(graceMilliseconds: 0))
    }

    @Test("a message cut short at any byte is refused", arguments: sampleMessages)
    func truncations(message: ControlMessage) {
        let whole = bodyOf(frame(message))
        for count in 0..<whole.count {
            #expect(throws: (any Error).self) { try decodeMessage(Array(whole[..<count])) }
        }
    }

    /// For all messages that have further elements.
    @Test(
        "a message with too few elements says how many there are",
        arguments: sampleMessages.filter { $0 != .ready && $0 != .heartbeat }
    )
    func tooFewElements(message: ControlMessage) {
        var short = bodyOf(frame(message))
        short[0] = 0x81
        #expect(refusal(Array(short[..<2])).contains("this one has 1"))
    }

    @Test("bytes behind the message in its frame are refused")
    func trailingBytes() {
        #expect(refusal(bodyOf(frame(.ready)) + [0]).contains("1 bytes follow the message"))
        #expect(refusal([0x81, 0x18, 0x80, 0xF6]).contains("1 bytes follow"))
    }

    @Test("an unknown kind may be skipped from 128 on, if it is well formed")
    func skippableKinds() throws {
        for kind: UInt64 in [128, 255, 256, .max] {
            let unknown = body { writer in
                writer.arrayHead(3)
                writer.unsigned(kind)
                writer.text("x")
                writer.arrayHead(0)
            }
            #expect(try decodeMessage(unknown) == nil)
            #expect(throws: (any Error).self) { try decodeMessage(Array(unknown.dropLast())) }
        }
    }

    @Test("an unknown kind below 128 is refused by its number", arguments: [6, 7, 17, 127] as [UInt64])
    func unknownKinds(kind: UInt64) {
        let unknown = body { writer in
            writer.arrayHead(1)
            writer.unsigned(kind)
        }
        #expect(refusal(unknown) == "frame kind \(kind) is unknown and may not be skipped")
    }

    @Test("what is no array with a count and a kind is refused")
    func noFrame() {
        #expect(refusal([]).isEmpty == false)
        #expect(refusal([0x80]).contains("begins with its kind"))
        #expect(refusal([0x9F, 0x04, 0xFF]).contains("begins with its kind"))
        #expect(refusal([0xA0]).contains("Expected an array"))
        #expect(refusal([0x81, 0x20]).contains("Expected an unsigned integer"))
        #expect(refusal(Array("GET / HTTP/1.1".utf8)).contains("Expected an array"))
        #expect(refusal([0x81, 0x08]) == "an event is no control message")
    }

    @Test("an element of the wrong type is refused with what was expected there")
    func wrongTypes() {
        let drain = body { writer in
            writer.arrayHead(2)
            writer.unsigned(14)
            writer.text("5")
        }
        #expect(refusal(drain).contains("Expected an unsigned integer"))
        let reject = body { writer in
            writer.arrayHead(3)
            writer.unsigned(2)
            writer.unsigned(1)
            writer.bytes([1])
        }
        #expect(refusal(reject).contains("Expected a text string"))
    }

    @Test("a hello of another program, or with versions that are no range, is refused")
    func badHello() {
        func hello(_ magic: String, _ lowest: UInt64, _ highest: UInt64) -> [UInt8] {
            body { writer in
                writer.arrayHead(10)
                writer.unsigned(0)
                writer.text(magic)
                writer.unsigned(lowest)
                writer.unsigned(highest)
                for text in ["name", "cookie", "library"] { writer.text(text) }
                for _ in 0..<3 { writer.unsigned(1) }
            }
        }
        #expect(refusal(hello("event-bridge", 1, 1)).hasPrefix("accepted"))
        #expect(refusal(hello("something", 1, 1)).contains("this one begins with \"something\""))
        #expect(refusal(hello("event-bridge", 2, 1)) == "versions 2 to 1 are no range")
        // One character of many scalars does not make the report long.
        #expect(refusal(hello("e" + String(repeating: "\u{301}", count: 10_000), 1, 1)).utf8.count < 400)
    }

    @Test("interest in more names than the limit, or in names that are too long or empty, is refused")
    func interestLimits() {
        var limits = LinkLimits()
        limits.interestNames = 2
        limits.eventNameBytes = 4
        func interest(_ names: [String], unwanted: Int = 0) -> [UInt8] {
            bodyOf(
                frame(
                    .interest(
                        Interest(
                            wanted: names.enumerated().map { .init(number: UInt64($0.offset), name: $0.element) },
                            unwanted: Array(repeating: 1, count: unwanted)
                        )
                    )
                )
            )
        }
        #expect(refusal(interest(["abcd", "e"], unwanted: 2), limits: limits).hasPrefix("accepted"))
        #expect(refusal(interest(["a", "b", "c"]), limits: limits) == "interest in 3 names; the limit is 2")
        #expect(refusal(interest([], unwanted: 3), limits: limits).contains("3 names are no longer wanted"))
        #expect(refusal(interest(["abcde"]), limits: limits).contains("this one has 5"))
        #expect(refusal(interest(["\u{E9}\u{E9}x"]), limits: limits).contains("this one has 5"))
        #expect(refusal(interest([""]), limits: limits).contains("this one has 0"))
        let triple = body { writer in
            writer.arrayHead(3)
            writer.unsigned(FrameKind.interest.rawValue)
            writer.arrayHead(1)
            writer.arrayHead(3)
            writer.unsigned(1)
            writer.text("a")
            writer.unsigned(1)
            writer.arrayHead(0)
        }
        #expect(refusal(triple, limits: limits) == "a wanted name is a pair of number and name")
    }

    @Test("both ways of reading an acknowledgement say the same, wherever its bytes end")
    func acknowledgementForms() throws {
        // As a link reads it.
        func read(_ body: UnsafeRawBufferPointer) throws -> (acknowledgement: Acknowledgement, incarnation: UInt64) {
            if let plain = Acknowledgement.decodePlain(body) { return plain }
            let message = try ControlMessage(decoding: body, limits: LinkLimits())
            guard case .acknowledge(let said, let incarnation)? = message else {
                throw LinkViolation("no acknowledgement")
            }
            return (said, incarnation)
        }
        let numbers: [UInt64] = [0, 23, 24, 255, 256, 65_535, 65_536, 1 << 32 - 1, 1 << 32, .max]
        let ranges: [[ClosedRange<UntrustedNumber>]] = [[], [9...11]]
        for (index, number) in numbers.enumerated() {
            for (ranges, unwanted) in zip(ranges + ranges, [0, 0, number, number]) {
                let other = numbers[(index + 3) % numbers.count]
                let said = Acknowledgement(mark: number, ranges: ranges, after: other, unwanted: unwanted)
                let buffer = CBORBuffer()
                said.encode(incarnation: other ^ number, into: buffer)
                #expect(buffer.copied() == frame(.acknowledge(said, incarnation: other ^ number)))
                let body = bodyOf(buffer.copied())
                // What lies behind the frame would make it whole.
                let whole = try body.withUnsafeBytes { bytes in
                    for length in 0..<body.count {
                        let part = UnsafeRawBufferPointer(rebasing: bytes[..<length])
                        #expect(throws: (any Error).self) { try read(part) }
                    }
                    return try read(bytes)
                }
                #expect(whole.acknowledgement == said && whole.incarnation == other ^ number)
                #expect(throws: (any Error).self) {
                    try (body + [0x01]).withUnsafeBytes { try read($0) }
                }
            }
        }
        // Later versions may add elements: these are ignored.
        let later: [UInt8] = [0x87, UInt8(FrameKind.acknowledge.rawValue), 0x01, 0x02, 0x03, 0x80, 0x04, 0xF6]
        let taken = try later.withUnsafeBytes { try read($0) }
        #expect(taken.acknowledgement == Acknowledgement(mark: 2, after: 3, unwanted: 4) && taken.incarnation == 1)
    }

    @Test("an acknowledgement with more than 64 ranges, half a range or a range upside down is refused")
    func acknowledgementLimits() {
        func acknowledgement(_ numbers: [UInt64]) -> [UInt8] {
            body { writer in
                writer.arrayHead(5)
                for number: UInt64 in [9, 1, 0, 0] { writer.unsigned(number) }
                writer.arrayHead(numbers.count)
                for number in numbers { writer.unsigned(number) }
            }
        }
        #expect(refusal(acknowledgement((0..<128).map { UInt64($0) * 2 })).hasPrefix("accepted"))
        #expect(refusal(acknowledgement((0..<130).map { UInt64($0) * 2 })).contains("at most 64 ranges"))
        #expect(refusal(acknowledgement([2])).contains("ranges of two numbers"))
        #expect(refusal(acknowledgement([5, 4])) == "5 to 4 is no range")
    }

    @Test("D11: a count that the bytes cannot hold is refused before memory is taken")
    func impossibleCounts() {
        for count: [UInt8] in [
            [0x9A, 0xFF, 0xFF, 0xFF, 0xFF], [0x9B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ] {
            #expect(throws: CBORError.self) { try decodeMessage(count + [3]) }
            #expect(throws: CBORError.self) { try decodeMessage([0x83, 0x03] + count + [0]) }
        }
    }

    @Test("D20: 200,000 mutants of every message and event are read or refused", .timeLimit(.minutes(5)))
    func mutants() {
        var random = SeededGenerator.announced()
        let originals =
            sampleMessages.map { bodyOf(frame($0)) }
            + sampleEvents.map { bodyOf(frame($0, payload: [0xA1, 0x61, 0x61, 1])) }
        let limits = LinkLimits()
        var accepted = 0
        for _ in 0..<rounds(200_000, atLeast: 20_000) {
            var mutant = originals[Int.random(in: 0..<originals.count, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&mutant, &random) }
            mutant.withUnsafeBytes { bytes in
                _ = ControlMessage.kind(of: bytes)
                if (try? ControlMessage(decoding: bytes, limits: limits)) != nil { accepted += 1 }
                if let (_, offset) = try? EventFrame.decode(bytes, limits: limits) {
                    accepted += 1
                    #expect(offset > 0 && offset < bytes.count)
                }
            }
        }
        #expect(accepted > 1_000, "the mutants are too wild to test much")
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let index = Int.random(in: 0...max(bytes.count - 1, 0), using: &random)
        switch Int.random(in: 0...6, using: &random) {
        case 0 where !bytes.isEmpty: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1 where !bytes.isEmpty: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2 where !bytes.isEmpty: bytes.removeSubrange(index...)
        case 3:
            bytes.insert(
                [0x1B, 0x3B, 0x5B, 0x7B, 0x9B, 0xBB, 0xFF, 0xF6].randomElement(using: &random) ?? 0,
                at: min(index, bytes.count)
            )
        case 4 where !bytes.isEmpty: bytes.remove(at: index)
        default: bytes.append(UInt8.random(in: 0...255, using: &random))
        }
    }
}

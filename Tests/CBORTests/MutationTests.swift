import CBOR
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

private struct Sample: Codable {
    enum Change: Codable {
        case saved(Int, String?)
        case removed
    }

    var id: UInt16 = 700
    var name = "caf\u{E9} \u{1F600}"
    var numbers: [Double] = [0.5, -1, 1e300]
    var map: [String: [Int8?]] = ["a": [1, nil], "b": []]
    var change = Change.saved(1, "x")
    var date = Date(timeIntervalSince1970: 1.5)
    var uuid: UUID? = UUID(uuidString: "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6")
    var url = URL(string: "https://example.org")
    var price = Decimal(string: "-99999999999999999999.25")
    var data = Data([1, 2, 3])
    var children: [Sample]?
}

@Suite("Mutants")
struct MutationTests {
    @Test("D20: a hundred thousand mutants are read or refused", .timeLimit(.minutes(20)))
    func mutants() throws {
        var random = SeededGenerator.announced()
        let encoder = CBOREncoder()
        let decoder = CBORDecoder()
        var seeds = try AppendixVector.load().map(\.bytes)
        seeds.append(try encoder.encode(Sample()))
        seeds.append(try encoder.encode(Sample(children: [Sample(), Sample(children: [])])))
        var accepted = 0
        for round in 0..<rounds(100_000) {
            // Most of the appendix is a few bytes: every other mutant is one of the samples.
            let seed = round.isMultiple(of: 2) ? seeds[seeds.count - 1 - round / 2 % 2] : seeds[round % seeds.count]
            let mutant = mutated(seed, using: &random)
            let value = try? CBORValue(decoding: mutant)
            let typed = Result { () throws(CBORError) in try decoder.decode(Sample.self, from: mutant) }
            if let value {
                accepted += 1
                let bytes = try value.encoded()
                #expect(try CBORValue(decoding: bytes) == value)
            } else if case .success = typed {
                Issue.record("decoded what is ill-formed: \(mutant.hexadecimal)")
            }
            if case .failure(let error) = typed {
                #expect((0...mutant.count).contains(error.offset), "\(mutant.hexadecimal)")
            }
            _ = try? decoder.decode([String: [Int]].self, from: mutant)
        }
        #expect(accepted > rounds(100_000) / 100)
    }

    private func mutated(_ seed: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = seed
        for _ in 0...Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert([0xFF, 0x5F, 0x7F, 0x9F, 0xBF, 0xC6].randomElement(using: &random) ?? 0, at: index)
            case 4: bytes.insert(contentsOf: bytes[index...].prefix(8), at: index)
            default: bytes.removeSubrange(index..<min(index + 4, bytes.count))
            }
        }
        return bytes
    }
}

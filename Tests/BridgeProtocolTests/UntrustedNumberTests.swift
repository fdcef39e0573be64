import BridgeProtocol
import Testing

@Suite("Numbers as peers write them")
struct UntrustedNumberTests {
    private static let extremes: [UInt64] = [
        0, 1, 2, 1 << 31, UInt64(UInt32.max), 1 << 32, UInt64(Int64.max) - 1, UInt64(Int64.max), 1 << 63, .max - 1,
        .max,
    ]

    @Test("a number is given out within the receiver's bounds only", arguments: extremes)
    func within(number: UInt64) {
        let untrusted = UntrustedNumber(number)
        for bound in Self.extremes {
            #expect(untrusted.within(0...bound) == (number <= bound ? number : nil))
            #expect(untrusted.within(bound ... .max) == (number >= bound ? number : nil))
            if let length = Int(exactly: bound) {
                #expect(untrusted.within(0...length) == (number <= bound ? Int(number) : nil))
            }
        }
    }

    @Test("clamping gives the nearest bound", arguments: extremes)
    func clamped(number: UInt64) {
        let untrusted = UntrustedNumber(number)
        for bound in Self.extremes {
            #expect(untrusted.clamped(to: bound) == min(number, bound))
            if let limit = Int(exactly: bound), limit > 0 {
                #expect(untrusted.clamped(to: 1...limit) == (number > bound ? limit : max(Int(number), 1)))
            }
        }
    }

    @Test("sums saturate", arguments: extremes)
    func sums(number: UInt64) {
        for other in Self.extremes {
            let sum = UntrustedNumber(number).saturatingSum(UntrustedNumber(other))
            #expect(sum.asWritten == (number > .max - other ? .max : number + other))
        }
    }

    @Test("it compares with numbers of this side as what was written", arguments: extremes)
    func comparing(number: UInt64) {
        let untrusted = UntrustedNumber(number)
        for other in Self.extremes {
            #expect((untrusted == other) == (number == other) && (untrusted != other) == (number != other))
            #expect((untrusted < other) == (number < other) && (untrusted <= other) == (number <= other))
            #expect((untrusted > other) == (number > other) && (untrusted >= other) == (number >= other))
            #expect((untrusted < UntrustedNumber(other)) == (number < other))
        }
        #expect(untrusted.description == number.description)
    }
}

/// Makes inputs out of others, as libFuzzer does, but without feedback on the code that they reach.
///
/// The same seed and the same corpus make the same inputs.
package struct InputMutator: Sendable {
    private let corpus: [[UInt8]]
    private let longest: Int
    private var state: UInt64

    /// Bytes with a special meaning in CBOR, in lengths or in scripts.
    private static let telling: [UInt8] = [
        0x00, 0x01, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x20, 0x3B, 0x40, 0x5B, 0x60, 0x7B, 0x7F, 0x80, 0x9B, 0xA0, 0xBF,
        0xF6, 0xFB, 0xFF,
    ]

    /// - Parameter longest: the greatest length of an input, in bytes.
    package init(corpus: [[UInt8]], longest: Int = 512, seed: UInt64) {
        self.corpus = corpus.filter { !$0.isEmpty }
        self.longest = longest
        state = seed
    }

    /// The next input.
    package mutating func next() -> [UInt8] {
        var input = number(below: 8) == 0 ? [] : one
        if input.isEmpty { input = (0...number(below: 64)).map { _ in UInt8(truncatingIfNeeded: draw()) } }
        for _ in 0...number(below: 4) { mutate(&input) }
        if input.count > longest { input.removeSubrange(longest...) }
        return input
    }

    private var one: [UInt8] {
        mutating get { corpus.isEmpty ? [] : corpus[number(below: corpus.count)] }
    }

    private mutating func mutate(_ input: inout [UInt8]) {
        let place = number(below: input.count + 1)
        guard place < input.count else {
            input.append(UInt8(truncatingIfNeeded: draw()))
            return
        }
        switch number(below: 8) {
        case 0: input[place] ^= 1 << UInt8(number(below: 8))
        case 1: input[place] = UInt8(truncatingIfNeeded: draw())
        case 2: input[place] = Self.telling[number(below: Self.telling.count)]
        case 3: input.insert(UInt8(truncatingIfNeeded: draw()), at: place)
        case 4: input.removeSubrange(place..<min(place + 1 + number(below: 8), input.count))
        case 5:
            let part = input[place..<min(place + 1 + number(below: 16), input.count)]
            input.insert(contentsOf: part, at: number(below: input.count + 1))
        case 6:
            let other = one
            input.replaceSubrange(place..., with: other.suffix(max(0, other.count - number(below: other.count + 1))))
        default:
            let end = min(place + 1 + number(below: 8), input.count)
            for index in place..<end { input[index] = UInt8(truncatingIfNeeded: draw()) }
        }
    }

    /// SplitMix64.
    private mutating func draw() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private mutating func number(below bound: Int) -> Int { Int(draw() % UInt64(bound)) }
}

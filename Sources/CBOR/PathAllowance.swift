/// How many bytes the walks for the coding paths of one value may read.
///
/// A coding path is found by a walk from the first byte, because decoding keeps no path on its way. The standard
/// library asks for a path with each error of its own, such as that of an unknown raw value. So without an allowance, a
/// type that catches its elements' errors would let a peer choose work in proportion to the square of the payload.
struct PathAllowance {
    /// Walks are allowed until they have read this many times the payload, plus ``freeBytes``.
    static let payloads = 16
    /// How many bytes walks may read besides: even a payload of 1 KiB then gets at least 80 paths.
    static let freeBytes = 64 << 10

    private(set) var walked = 0

    /// Notes a walk over `bytes` of a payload, and returns true; returns false if the allowance is used up.
    ///
    /// The first walk is always allowed, and the last one may end beyond the allowance, by less than a payload.
    mutating func allowsWalk(over bytes: Int, ofPayload count: Int) -> Bool {
        guard (walked - PathAllowance.freeBytes) / PathAllowance.payloads < count else { return false }
        walked += min(max(bytes, 0), count)
        return true
    }
}

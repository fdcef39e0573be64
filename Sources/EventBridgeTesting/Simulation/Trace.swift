/// What a world's scheduler has seen, step by step: two runs that are the same have the same trace.
struct Trace: Sendable {
    enum Kind: UInt8, Sendable {
        case start, run, point, yield, wait, end
    }

    struct Entry: Sendable, Equatable, CustomStringConvertible {
        let kind: Kind
        let thread: Int
        let name: String
        let time: UInt64

        var description: String { "\(time) \(name) \(thread) \(kind)" }
    }

    /// Of all entries.
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    private(set) var count: UInt64 = 0
    var keepsEntries = false
    private(set) var entries: [Entry] = []

    mutating func note(_ kind: Kind, _ thread: WorldThread, _ time: UInt64) {
        count += 1
        mix(UInt64(kind.rawValue) | UInt64(thread.number) << 8)
        mix(time)
        if keepsEntries { entries.append(Entry(kind: kind, thread: thread.number, name: thread.name, time: time)) }
    }

    private mutating func mix(_ value: UInt64) { digest = (digest ^ value) &* 0x100_0000_01b3 ^ (digest >> 29) }
}

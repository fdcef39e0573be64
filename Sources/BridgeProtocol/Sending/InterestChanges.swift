/// The changes of this side's interest that have not left for the peer: for each name the last change, or none if what
/// the peer was told is true again.
///
/// However often the interest changes before the peer reads on, each name waits at most once.
struct InterestChanges: Sendable, Hashable {
    /// How many names one message has at most: as many as a worker may ask for at once.
    private static let namesAtOnce = 4_096

    /// The names that the peer is to be told of, by their numbers.
    private var wanted: [UInt64: String] = [:]
    private var unwanted: Set<UInt64> = []

    var isEmpty: Bool { wanted.isEmpty && unwanted.isEmpty }

    /// The interest has changed, from what it was after the last call.
    mutating func add(_ changes: Interest) {
        for number in changes.unwanted where wanted.removeValue(forKey: number) == nil { unwanted.insert(number) }
        for name in changes.wanted where unwanted.remove(name.number) == nil { wanted[name.number] = name.name }
    }

    /// All changes, as messages that the peer has to get in this order.
    var messages: [Interest] {
        let names = wanted.sorted { $0.key < $1.key }.map { Interest.Name(number: $0.key, name: $0.value) }
        var messages = [Interest(wanted: Array(names.prefix(Self.namesAtOnce)), unwanted: unwanted.sorted())]
        for start in stride(from: Self.namesAtOnce, to: names.count, by: Self.namesAtOnce) {
            messages.append(Interest(wanted: Array(names[start...].prefix(Self.namesAtOnce))))
        }
        return messages
    }
}

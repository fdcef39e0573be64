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
    ///
    /// - Parameter frameBytes: how many bytes the body of a message's frame has at most.
    func messages(within frameBytes: Int) -> [Interest] {
        var messages: [Interest] = []
        var part = Interest()
        var room = frameBytes - Interest.headBytes
        func add(_ bytes: Int, isFull: Bool, _ append: (inout Interest) -> Void) {
            if isFull || bytes > room {
                messages.append(part)
                part = Interest()
                room = frameBytes - Interest.headBytes
            }
            room -= bytes
            append(&part)
        }
        for number in unwanted.sorted() {
            add(Interest.bytes(of: number), isFull: part.unwanted.count == Self.namesAtOnce) {
                $0.unwanted.append(number)
            }
        }
        for (number, name) in wanted.sorted(by: { $0.key < $1.key }) {
            let name = Interest.Name(number: number, name: name)
            add(name.bytes, isFull: part.wanted.count == Self.namesAtOnce) { $0.wanted.append(name) }
        }
        messages.append(part)
        return messages
    }
}

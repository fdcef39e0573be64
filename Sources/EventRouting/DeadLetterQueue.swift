import BridgePlatform
package import BridgeProtocol
package import DomainEvents

/// An event that was given up for one process, and the reasons.
package struct DeadLetterRecord: Sendable {
    /// The letter's number among all letters of the bridge; a letter that is put back into the queue keeps its number.
    package let number: UInt64
    /// The process that the event was for, as a journal notes it.
    let notedReceiver: NotedReceiver
    package let event: UndeliveredEvent
    package let cause: EventDeadLettered.Cause
    /// The reasons of the event's strikes, then any other reason.
    package let reasons: [String]
    /// When the event was given up, in nanoseconds since 1970.
    package let nanosecondsSinceEpoch: UInt64

    /// The name of the process that the event was for.
    package var receiver: String { notedReceiver.name }

    /// The letter as a journal notes it.
    var noted: NotedLetter {
        NotedLetter(
            event: event.context.id,
            receiver: notedReceiver,
            number: number,
            cause: cause,
            reasons: reasons,
            strikes: event.strikes.count,
            attempts: event.attempts,
            nanosecondsSinceEpoch: nanosecondsSinceEpoch
        )
    }

    var charge: Int { LinkLimits.charge(forFrameOf: event.payload.count) }
}

/// How many dead letters there is room for, and whether a letter that finds no room evicts the oldest.
package struct DeadLetterBounds: Sendable, Hashable {
    package var letters: Int
    package var bytes: Int
    package var evictsOldest: Bool

    package init(letters: Int, bytes: Int, evictsOldest: Bool) {
        self.letters = letters
        self.bytes = bytes
        self.evictsOldest = evictsOldest
    }
}

/// The dead letters, in the order in which they came and were numbered, and the room that they take.
struct DeadLetterQueue: Sendable {
    private(set) var letters: [DeadLetterRecord] = []
    private(set) var bytes = 0
    private let bounds: DeadLetterBounds

    init(bounds: DeadLetterBounds) {
        self.bounds = bounds
    }

    /// Whether no further letter should come; ``add(_:)`` still takes a letter that cannot be avoided.
    var isFull: Bool { !bounds.evictsOldest && (letters.count >= bounds.letters || bytes >= bounds.bytes) }

    /// Adds a letter, and returns the letters that were evicted to make room.
    mutating func add(_ letter: DeadLetterRecord) -> [DeadLetterRecord] {
        // Evicted in one step: an earlier host may have left many more letters than the bounds allow.
        var (leaving, freed) = (0, 0)
        while bounds.evictsOldest, leaving < letters.count,
            letters.count - leaving >= bounds.letters || bytes - freed + letter.charge > bounds.bytes
        {
            freed += letters[leaving].charge
            leaving += 1
        }
        let evicted = Array(letters.prefix(leaving))
        letters.removeFirst(leaving)
        letters.append(letter)
        bytes += letter.charge - freed
        return evicted
    }

    /// Adds letters that an earlier host has left, however many: they keep their numbers.
    mutating func restore(_ left: [DeadLetterRecord]) {
        letters = (letters + left).sorted { $0.number < $1.number }
        bytes += left.reduce(0) { $0 + $1.charge }
    }

    /// The letter of this number; nil if there is none.
    func letter(_ number: UInt64) -> DeadLetterRecord? { index(of: number).map { letters[$0] } }

    /// The letters with greater numbers.
    func letters(after number: UInt64) -> ArraySlice<DeadLetterRecord> { letters[index(after: number)...] }

    mutating func take(_ number: UInt64) -> DeadLetterRecord? {
        guard let index = index(of: number) else { return nil }
        bytes -= letters[index].charge
        return letters.remove(at: index)
    }

    /// Puts a letter back at the place that it was taken from.
    mutating func putBack(_ letter: DeadLetterRecord) {
        letters.insert(letter, at: index(after: letter.number))
        bytes += letter.charge
    }

    private func index(of number: UInt64) -> Int? {
        let index = index(after: number) - 1
        return index >= 0 && letters[index].number == number ? index : nil
    }

    /// The index of the first letter with a greater number.
    private func index(after number: UInt64) -> Int { letters.partitioningIndex { $0.number > number } }
}

import ChaosLedger

/// How far the numbers of a run have come, in a mapped file that outlives each process.
struct Tally {
    /// The names of the workers, each of which gets every number.
    static let workers = ["a", "b"]

    private static let accepted = 0
    private let words: SharedWords

    private static func path(in folder: String) -> String { folder + "/tally" }
    private static var byteCount: Int { 8 * (1 + 4 * workers.count) }

    static func make(in folder: String) throws -> Tally {
        Tally(words: try .make(at: path(in: folder), byteCount: byteCount))
    }

    private init(words: SharedWords) { self.words = words }

    init(in folder: String) throws {
        self.init(words: try SharedWords(at: Self.path(in: folder), byteCount: Self.byteCount))
    }

    /// The newest number whose `send` has returned at the host.
    var accepted: UInt64 {
        get { words[Self.accepted] }
        nonmutating set { words[Self.accepted] = newValue }
    }

    /// What a worker has received.
    func worker(_ name: String) -> Receiver? {
        Self.workers.firstIndex(of: name).map { Receiver(words: words, first: 1 + 4 * $0) }
    }

    /// What one worker has received; only the worker's processes write, one at a time.
    struct Receiver {
        fileprivate let words: SharedWords
        fileprivate let first: Int

        /// All numbers up to this one have arrived, if ``outOfTurn`` is 0.
        var newest: UInt64 { words[first] }
        var repeats: UInt64 { words[first + 1] }
        /// Repeats with the `attempt` 1, as if they came for the first time.
        var unmarked: UInt64 { words[first + 2] }
        /// How many times a new number was not the newest one plus 1.
        var outOfTurn: UInt64 { words[first + 3] }

        /// Writes down a number before it is acknowledged.
        func note(_ number: UInt64, attempt: Int) {
            guard number > newest else {
                _ = words.add(1, at: first + 1)
                if attempt == 1 { _ = words.add(1, at: first + 2) }
                return
            }
            if number != newest + 1 { _ = words.add(1, at: first + 3) }
            words[first] = number
        }
    }
}

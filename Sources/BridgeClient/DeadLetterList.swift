import BridgeControl

/// Puts a host's answers to ``DeadLettersRequested`` together into one list.
struct DeadLetterList {
    /// The most letters that `supervisor` can be configured to keep.
    static let most = 1_000_000

    private(set) var letters: [DeadLetterReport] = []
    private(set) var isComplete = false

    /// The number of the last letter, 0 before the first; the next answer must begin with a greater number.
    var last: UInt64 { letters.last?.letter ?? 0 }

    /// Appends an answer that begins after the last number, is in order and within all bounds; refuses any other.
    ///
    /// - Returns: Whether the answer was appended.
    mutating func append(_ answer: DeadLettersReported) -> Bool {
        let numbers = [last] + answer.letters.map(\.letter)
        guard answer.letters.count <= DeadLettersReported.mostLetters,
            letters.count + answer.letters.count <= Self.most,
            zip(numbers, numbers.dropFirst()).allSatisfy({ $0 < $1 }),
            answer.isComplete || !answer.letters.isEmpty
        else { return false }
        letters += answer.letters
        isComplete = answer.isComplete
        return true
    }
}

import BridgeControl

/// Puts a host's answers to ``DeadLettersRequested`` together into one list.
struct DeadLetterList {
    /// The most letters that `supervisor` can be configured to keep.
    static let most = 1_000_000

    private(set) var letters: [DeadLetterReport] = []
    private(set) var isComplete = false

    /// The number behind which the next answer must begin.
    var last: UInt64 { letters.last?.letter ?? 0 }

    /// - Returns: Whether the answer begins behind the last number, is in order and within all bounds; otherwise
    ///   nothing is appended.
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

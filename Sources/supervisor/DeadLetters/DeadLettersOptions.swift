import JSONText

/// The options of `supervisor dead-letters`.
struct DeadLettersOptions: Sendable, Hashable {
    /// The action, and the numbers of its letters.
    enum Action: Sendable, Hashable {
        case list(event: String?, worker: String?)
        case show([UInt64])
        case redeliver([UInt64])
        case discard([UInt64])
    }

    /// The word for an action on the command line.
    enum ActionName: String, CaseIterable {
        case list
        case show
        case redeliver
        case discard
    }

    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    var isJSON = false
    let action: Action

    init(control: String? = nil, isJSON: Bool = false, _ action: Action) {
        self.control = control
        self.isJSON = isJSON
        self.action = action
    }

    init(_ given: SubcommandArguments) throws(UsageError) {
        let name = given.operands.first.flatMap(ActionName.init) ?? .list
        let words = given.operands.dropFirst()
        let (event, worker) = (given.values["--event"], given.values["--worker"])
        if name == .list {
            if let word = words.first {
                throw Self.error("found \(ShownValue.text(word)) after list, expected nothing more")
            }
            action = .list(event: event, worker: worker)
        } else {
            if event != nil || worker != nil {
                let option = event == nil ? "--worker" : "--event"
                throw Self.error("found \(option) with \(name), expected it with list only")
            }
            let letters = try Self.letters(words)
            action =
                switch name {
                case .redeliver: .redeliver(letters)
                case .discard: .discard(letters)
                case .show, .list: .show(letters)
                }
        }
        control = given.values["--control"]
        isJSON = given.flags.contains("--json")
    }

    private static func letters(_ words: ArraySlice<String>) throws(UsageError) -> [UInt64] {
        guard !words.isEmpty else { throw error("found no ID, expected \(expectedID)") }
        var letters: [UInt64] = []
        for word in words {
            guard let letter = UInt64(word), letter > 0 else {
                throw error("found the ID \(ShownValue.text(word)), expected \(expectedID)")
            }
            letters.append(letter)
        }
        return letters
    }

    static let expectedID = "the number of a dead letter"

    private static func error(_ description: String) -> UsageError {
        UsageError(description: description, topic: .deadLetters)
    }
}

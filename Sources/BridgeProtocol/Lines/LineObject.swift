import DomainEvents
import JSONText

/// The JSON object in a line; an error names the wrong member and what was expected.
struct LineObject {
    let node: JSONNode
    /// What the line is, for messages: `an event`, or `a line of ack`.
    let subject: String

    init(_ node: JSONNode, _ subject: String) {
        self.node = node
        self.subject = subject
    }

    /// The member with this key; nil if it is missing or null.
    private subscript(key: String) -> JSONNode? { node[key].flatMap { $0.value == .null ? nil : $0 } }

    func wrong(_ key: String, _ expected: String) -> LinkViolation {
        guard let found = self[key] else {
            return LinkViolation("\(subject) has no \"\(key)\", expected \(expected)")
        }
        return LinkViolation("in \(subject), \(key): found \(ShownValue.text(found)), expected \(expected)")
    }

    func text(_ key: String, _ expected: String = "a text") throws(LinkViolation) -> String? {
        guard let member = self[key] else { return nil }
        guard case .string(let text) = member.value else { throw wrong(key, expected) }
        return text
    }

    func flag(_ key: String) throws(LinkViolation) -> Bool? {
        guard let member = self[key] else { return nil }
        guard case .bool(let flag) = member.value else { throw wrong(key, "true or false") }
        return flag
    }

    func number(_ key: String) throws(LinkViolation) -> UntrustedNumber? {
        guard let member = self[key] else { return nil }
        guard case .unsigned(let number) = member.value else { throw wrong(key, "a number") }
        return UntrustedNumber(number)
    }

    func texts(_ key: String, atMost limit: Int) throws(LinkViolation) -> [String]? {
        guard let member = self[key] else { return nil }
        guard case .array(let elements) = member.value else { throw wrong(key, "an array of texts") }
        guard elements.count <= limit else {
            throw LinkViolation("in \(subject), \(key): found \(elements.count) texts; the limit is \(limit)")
        }
        var texts: [String] = []
        for element in elements {
            guard case .string(let text) = element.value else {
                throw LinkViolation("in \(subject), \(key): found \(ShownValue.text(element)), expected texts only")
            }
            texts.append(text)
        }
        return texts
    }

    func numbers(_ key: String) throws(LinkViolation) -> [UInt64]? {
        guard let member = self[key] else { return nil }
        guard case .array(let elements) = member.value, !elements.isEmpty else {
            throw wrong(key, "an array of numbers")
        }
        var numbers: [UInt64] = []
        for element in elements {
            guard case .unsigned(let number) = element.value else { throw wrong(key, "an array of numbers") }
            numbers.append(number)
        }
        return numbers
    }

    /// The word in a member that must be one of the words of `type`; nil if the member is missing.
    func word<Word: LineWord>(_ key: String, of type: Word.Type) throws(LinkViolation) -> Word? {
        guard let text = try text(key) else { return nil }
        guard let word = Word.allCases.first(where: { $0.word == text }) else {
            let words = Word.allCases.map(\.word)
            let last = words.last ?? ""
            throw wrong(
                key,
                "\(words.dropLast().joined(separator: ", ")) or \(last)"
                    + NearestName.question(for: text, among: words)
            )
        }
        return word
    }
}

/// A reason or mode that has a number in frames and a word in lines.
protocol LineWord: CaseIterable {
    var word: String { get }
}

extension Refusal.Reason: LineWord {
    var word: String {
        switch self {
        case .undecodable: "undecodable"
        case .invalid: "invalid"
        case .handlerFailed: "failed"
        case .forbidden: "forbidden"
        }
    }
}

extension Goodbye.Reason: LineWord {
    var word: String {
        switch self {
        case .shutdown: "shutdown"
        case .replaced: "replaced"
        case .idle: "idle"
        case .violation: "violation"
        case .version: "version"
        case .limit: "limit"
        case .internalError: "internal"
        }
    }
}

extension Reject.Reason: LineWord {
    var word: String {
        switch self {
        case .version: "version"
        case .cookie: "cookie"
        case .limit: "limit"
        case .worker: "worker"
        }
    }
}

extension Gap.Reason: LineWord {
    var word: String {
        switch self {
        case .policy: "policy"
        case .full: "full"
        }
    }
}

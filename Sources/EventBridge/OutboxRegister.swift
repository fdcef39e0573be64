import DomainEvents

/// What a host writes down of itself and of the outboxes that it keeps, for the host that finds them after a kill.
///
/// A pure value. A register is a text of lines, to which the host only appends. A line without its end was not finished
/// and counts for nothing: the host writes a line before it makes what the line speaks of.
struct OutboxRegister {
    /// The outbox of one start of a worker.
    struct Outbox: Hashable {
        let worker: String
        let incarnation: UInt64
        /// The journal's last position when the outbox was made: each recorded event of the outbox has a later one.
        let position: UInt64
    }

    /// What is wrong with a register, as the end of a sentence.
    struct Mistake: Error {
        let text: String
    }

    /// The source of the host's own events.
    let host: EventSource
    /// Which start of the machine the host ran in; empty if that is not known.
    let boot: String
    private(set) var names: [UInt64: String] = [:]
    /// The outboxes, in the order in which the host has made them.
    private(set) var outboxes: [Outbox] = []

    private static let title = "outboxes 1"

    // MARK: - Writing

    /// The first lines.
    static func head(of host: EventSource, boot: String) -> [UInt8] {
        line([title]) + line(["host", hexadecimal(host.incarnation), spelled(host.origin), spelled(boot)])
    }

    /// The line of a name that stands as a number in the outboxes' frames.
    static func line(of name: String, number: UInt64) -> [UInt8] { line(["name", "\(number)", spelled(name)]) }

    static func line(of outbox: Outbox) -> [UInt8] {
        line(["outbox", hexadecimal(outbox.incarnation), "\(outbox.position)", spelled(outbox.worker)])
    }

    private static func line(_ words: [String]) -> [UInt8] { Array((words.joined(separator: " ") + "\n").utf8) }

    static func hexadecimal(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    /// A text that may have any bytes, as digits after a hyphen.
    private static func spelled(_ text: String) -> String {
        "-" + text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: - Reading

    init(_ text: [UInt8]) throws(Mistake) {
        var lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // What follows the last line's end is an unfinished line, or nothing.
        lines.removeLast()
        guard lines.first == Self.title, lines.count > 1 else {
            throw Mistake(text: "its first line is not \"\(Self.title)\"")
        }
        let head = lines[1].split(separator: " ")
        guard head.count == 4, head[0] == "host", let incarnation = UInt64(head[1], radix: 16),
            let origin = Self.text(head[2]), let boot = Self.text(head[3])
        else { throw Mistake(text: "its second line names no host") }
        host = EventSource(origin: origin, incarnation: incarnation)
        self.boot = boot
        for (index, line) in lines.enumerated().dropFirst(2) {
            let words = line.split(separator: " ")
            if words.count == 3, words[0] == "name", let number = UInt64(words[1]), let name = Self.text(words[2]) {
                names[number] = name
            } else if words.count == 4, words[0] == "outbox", let incarnation = UInt64(words[1], radix: 16),
                let position = UInt64(words[2]), let worker = Self.text(words[3])
            {
                outboxes.append(Outbox(worker: worker, incarnation: incarnation, position: position))
            } else {
                throw Mistake(text: "line \(index + 1) is neither a name nor an outbox")
            }
        }
    }

    private static func text(_ word: Substring) -> String? {
        guard word.first == "-" else { return nil }
        let digits = Array(word.utf8.dropFirst())
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    // MARK: - Files

    private static let suffix = ".host"
    /// The end of the name of a file that could not be recovered.
    static let setAside = ".unread"

    /// The name of the register of a host whose files' names begin with `stem`, a number in hexadecimal.
    static func fileName(stem: String) -> String { stem + suffix }

    /// What the names of a register's outboxes begin with; nil if no register has this name.
    static func stem(of fileName: String) -> String? {
        guard fileName.hasSuffix(suffix), fileName.utf8.count == 16 + suffix.utf8.count else { return nil }
        return String(fileName.dropLast(suffix.utf8.count))
    }

    static func fileName(ofOutbox incarnation: UInt64, stem: String) -> String {
        "\(stem)-\(hexadecimal(incarnation)).outbox"
    }
}

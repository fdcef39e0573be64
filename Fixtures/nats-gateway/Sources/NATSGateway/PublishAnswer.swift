/// What JetStream answers to a message that was published.
enum PublishAnswer: Equatable, Sendable {
    /// The message is in the stream.
    case stored
    /// A message with this identity was in the stream before.
    case wasStored
    /// The last message of the stream is not the one that this message was to follow.
    case notInTurn
    /// This message can never be stored.
    case impossible(String)
    /// The message is not stored now: the stream is full, or there is none, or the broker is not ready.
    case notNow(String)

    /// Wrong last sequence and wrong last message, by the list of errors of nats-server.
    private static let wrongPlaces: Set<UInt64> = [10071, 10070]
    /// The message is larger than the stream allows.
    private static let tooLarge: UInt64 = 10054

    /// How much of the broker's text is passed on, in characters.
    private static let longestText = 200

    /// Reads an answer's JSON.
    init(json: [UInt8]) {
        guard let answer = Answer(json: json) else {
            self = .notNow("the broker's answer is not understood")
            return
        }
        if let error = answer.error {
            let code = error.code ?? 0
            if Self.wrongPlaces.contains(code) {
                self = .notInTurn
            } else if code == Self.tooLarge {
                self = .impossible("the broker says: \(error.description ?? "message too large")")
            } else {
                self = .notNow("the broker says: \(error.description ?? "error") (\(code))")
            }
        } else if answer.sequence == nil {
            self = .notNow("the broker's answer is not understood")
        } else {
            self = answer.isDuplicate ? .wasStored : .stored
        }
    }

    /// The answer's fields that count; the initializers have JetStream's names for them.
    private struct Answer {
        var sequence: UInt64?
        var isDuplicate = false
        var error: Failure?

        struct Failure {
            /// JetStream's `err_code`; its field `code` is only a class of errors.
            var code: UInt64?
            /// The beginning of the error's description.
            var description: String?

            init?(_ scanner: inout JSONScanner) {
                let read: Void? = scanner.object { name, scanner in
                    switch name {
                    case "err_code": return scanner.count().map { code = $0 }
                    case "description":
                        return scanner.string().map { description = String($0.prefix(PublishAnswer.longestText)) }
                    default: return scanner.skip()
                    }
                }
                if read == nil { return nil }
            }
        }

        init?(json: [UInt8]) {
            var scanner = JSONScanner(json)
            let read: Void? = scanner.object { name, scanner in
                switch name {
                case "seq":
                    sequence = scanner.count()
                    return sequence.map { _ in }
                case "duplicate": return scanner.boolean().map { isDuplicate = $0 }
                case "error":
                    error = Failure(&scanner)
                    return error.map { _ in }
                default: return scanner.skip()
                }
            }
            guard read != nil, scanner.isAtEnd() else { return nil }
        }
    }
}

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

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
    private static let wrongPlaces: Set<Int> = [10071, 10070]
    /// The message is larger than the stream allows.
    private static let tooLarge = 10054

    /// Reads an answer's JSON.
    init(json: some ContiguousBytes & Collection<UInt8>) {
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(json)) else {
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
        } else if answer.seq == nil {
            self = .notNow("the broker's answer is not understood")
        } else {
            self = answer.duplicate == true ? .wasStored : .stored
        }
    }

    /// The answer's fields, with JetStream's names.
    private struct Answer: Decodable {
        let seq: UInt64?
        let duplicate: Bool?
        let error: Failure?

        struct Failure: Decodable {
            let code: Int?
            let description: String?

            // `code` of JetStream is only a class of errors.
            enum CodingKeys: String, CodingKey {
                case code = "err_code"
                case description
            }
        }
    }
}

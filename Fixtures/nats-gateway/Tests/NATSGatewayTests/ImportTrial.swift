import Testing

@testable import NATSGateway

/// Notes what an ``ImportMachine`` decides in a test.
struct ImportTrial {
    var machine: ImportMachine<String>
    var published: [UInt64] = []
    var acknowledged: [String] = []
    var terminated: [String] = []
    var repeats: [UInt64] = []
    var looks = 0
    var lookedAt: UInt64 = 0
    var identified: [UInt64] = []
    var made: [(number: UInt64, start: UInt64, removing: [UInt64])] = []
    /// What the consumers say of the places that the host keeps.
    var unkept: [UInt64?] = []
    var awaited: [Int64] = []
    var isTimed = false
    var said: [String] = []
    var ended: String?
    private let paris: Node

    init(keepsPlaces: Bool = false, known: ImportPlaces.Place? = nil) throws {
        paris = try node("paris")
        machine = ImportMachine(node: paris, keepsPlaces: keepsPlaces, known: known)
    }

    mutating func handle(_ input: ImportMachine<String>.Input) {
        for action in machine.handle(input) {
            switch action {
            case .look(let message):
                looks += 1
                lookedAt = message
            case .identify(let message): identified.append(message)
            case .makeConsumer(let number, let start, let unkept, let removing):
                made.append((number, start, removing))
                self.unkept.append(unkept)
            case .awaitKeeping(let created): awaited.append(created)
            case .publish(_, let sequence, let mayBeRepeat):
                published.append(sequence)
                if mayBeRepeat { repeats.append(sequence) }
            case .acknowledge(let reply): acknowledged.append(reply)
            case .terminate(let reply): terminated.append(reply)
            case .startTimer: isTimed = true
            case .stopTimer: isTimed = false
            case .report(let text): said.append(text)
            case .end(let reason): ended = reason
            }
        }
    }

    mutating func arrive(
        _ sequence: UInt64,
        delivery: UInt64,
        consumer: UInt64? = nil,
        identity: String? = nil,
        _ content: ImportMachine<String>.Content? = nil
    ) {
        let identity = identity ?? "e\(sequence)"
        let name = paris.consumer(consumer ?? made.last?.number ?? 0)
        let reply = "$JS.ACK.S.\(name).1.\(sequence).\(delivery).0.0"
        guard let place = ConsumerPlace(reply: reply) else {
            Issue.record("\(reply) is no place")
            return
        }
        handle(.arrived(place, reply: "\(sequence)", identity: identity, content ?? .event(identity)))
    }

    mutating func settle(_ sequences: UInt64...) {
        for sequence in sequences { handle(.settled(sequence: sequence, refusal: nil)) }
    }

    static func reading(_ look: ImportLook = ImportLook(created: 1, first: 1, last: 100)) throws -> ImportTrial {
        var trial = try ImportTrial()
        trial.handle(.connected)
        trial.handle(.looked(look))
        trial.handle(.consumerMade)
        return trial
    }
}

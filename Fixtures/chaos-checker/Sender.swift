import ChaosLedger

/// One life of a party as a sender: its ledger, and how its streams fare with each of their receivers.
final class Sender {
    let party: Party
    let ordinal: UInt64
    let path: String
    let ledger: SentLedger
    private let streams: [ChaosStream]
    /// For each stream and each of its receivers.
    private var flows: [Flow?]

    init(_ party: Party, _ ordinal: UInt64, path: String, times: [Int]) throws {
        self.party = party
        self.ordinal = ordinal
        self.path = path
        ledger = try SentLedger(at: path)
        streams = ChaosStream.allCases.filter { $0.origin == party }
        flows = Array(repeating: nil, count: ChaosStream.allCases.count * Party.allCases.count)
        for stream in streams {
            for receiver in stream.receivers {
                flows[Self.index(stream, receiver)] = Flow(lastSeen: times[Int(receiver.rawValue)])
            }
        }
    }

    private static func index(_ stream: ChaosStream, _ receiver: Party) -> Int {
        Int(stream.rawValue) * Party.allCases.count + Int(receiver.rawValue)
    }

    /// - Returns: What is wrong; also that the receiver should not have got it at all, as nil in nil.
    func add(_ record: HandledRecord, to receiver: Party, life: UInt64, time: Int) -> Result<Fault?, NotForReceiver> {
        guard let stream = ChaosStream(rawValue: record.stream), stream.origin == party,
            flows[Self.index(stream, receiver)] != nil
        else { return .failure(NotForReceiver()) }
        return .success(flows[Self.index(stream, receiver)]?.add(record, receiver: life, time: time) ?? nil)
    }

    struct NotForReceiver: Error {}

    /// Whether nothing more can come of its streams: all is settled, and the receivers have handled so much since that no sender
    /// still keeps an event of it.
    func isRetirable(times: [Int]) -> Bool {
        forAllFlows { stream, receiver, flow in
            flow.isComplete(accepted: ledger.accepted(stream))
                && times[Int(receiver.rawValue)] - flow.lastSeen > Int(Flow.memory)
        }
    }

    private func forAllFlows(_ body: (ChaosStream, Party, Flow) -> Bool) -> Bool {
        streams.allSatisfy { stream in
            stream.receivers.allSatisfy { receiver in
                flows[Self.index(stream, receiver)].map { body(stream, receiver, $0) } ?? true
            }
        }
    }

    /// Adds up how all of its streams have fared.
    func close(into totals: inout [Tally], _ accepted: inout [Int], report: (String) -> Void) {
        for stream in streams {
            accepted[Int(stream.rawValue)] += Int(clamping: ledger.accepted(stream))
            for receiver in stream.receivers {
                guard let flow = flows[Self.index(stream, receiver)] else { continue }
                let tally = flow.total(accepted: ledger.accepted(stream), offered: ledger.offered(stream))
                totals[Self.index(stream, receiver)] += tally
                guard tally.lost + tally.neverOffered > 0 else { continue }
                report(
                    """
                    \(stream) of life \(ordinal) to \(receiver.name): \(ledger.offered(stream)) offered, \
                    \(ledger.accepted(stream)) accepted, \(tally.lost) lost (\
                    \(flow.lostNumbers(accepted: ledger.accepted(stream)))), \(tally.neverOffered) never offered
                    """
                )
            }
        }
    }

    /// Where the tally of a stream and receiver lies.
    static func totalIndex(_ stream: ChaosStream, _ receiver: Party) -> Int { index(stream, receiver) }
}

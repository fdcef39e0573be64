import ChaosLedger

/// One life of a party as a sender: its ledger, and the flow of each stream to each receiver.
final class Sender {
    let party: Party
    let ordinal: UInt64
    let path: String
    let ledger: SentLedger
    private let streams: [ChaosStream]
    /// The flow of each stream to each of its receivers, at `index(_:_:)`; nil at all other places.
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
                let promise = ChaosPromise(stream.kind, from: party, to: receiver)
                flows[Self.index(stream, receiver)] = Flow(promise, lastSeen: times[Int(receiver.rawValue)])
            }
        }
    }

    /// The index of the tally for a stream and a receiver.
    static func index(_ stream: ChaosStream, _ receiver: Party) -> Int {
        Int(stream.rawValue) * Party.allCases.count + Int(receiver.rawValue)
    }

    /// - Returns: The fault of the record, if any; a failure if the receiver should not have got the event at all.
    func add(_ record: HandledRecord, life: UInt64, lane: Int, time: Int) -> Result<Fault?, NotForReceiver> {
        guard let stream = ChaosStream(rawValue: record.stream), stream.origin == party,
            flows[Self.index(stream, record.receiver)] != nil
        else { return .failure(NotForReceiver()) }
        let index = Self.index(stream, record.receiver)
        return .success(flows[index]?.add(record, receiver: life, lane: lane, time: time) ?? nil)
    }

    struct NotForReceiver: Error {}

    /// Whether the streams are finished: all events are settled, and the receivers have handled so many events since
    /// then that no sender still keeps one of the settled events.
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

    /// Adds the tallies of all streams to the totals.
    ///
    /// - Parameter dead: the processes that have died.
    func close(into totals: inout Totals, dead: Set<Int32>, report: (String) -> Void) {
        let end = dead.contains(ledger.process) ? "died" : "did not die"
        for stream in streams {
            let (accepted, offered) = (ledger.accepted(stream), ledger.offered(stream))
            let (told, doubtful) = ledger.exceptions(stream)
            totals.accepted[Int(stream.rawValue)] += Int(clamping: accepted)
            for receiver in stream.receivers {
                guard let flow = flows[Self.index(stream, receiver)] else { continue }
                let tally = flow.total(accepted: accepted, offered: offered, told: told, doubtful: doubtful)
                totals.tallies[Self.index(stream, receiver)] += tally
                for (life, count) in flow.takenBack { totals.takenBack[life, default: 0] += count }
                let isStrict = ChaosPromise(stream.kind, from: party, to: receiver) == .settled
                guard isStrict && tally.missing > 0 || tally.neverOffered > 0 else { continue }
                report(
                    """
                    \(stream) of life \(ordinal), which \(end), to \(receiver.name): \(offered) offered, \(accepted) accepted, \
                    \(tally.missing) missing (\(flow.missingNumbers(accepted: accepted))), \
                    \(tally.neverOffered) never offered
                    """
                )
            }
        }
    }
}

/// The tallies of all streams, over all lives of their senders.
struct Totals {
    var tallies = Array(repeating: Tally(), count: ChaosStream.allCases.count * Party.allCases.count)
    var accepted = Array(repeating: 0, count: ChaosStream.allCases.count)
    /// For each life of a receiver, how many events that it had begun were taken back from it.
    var takenBack: [UInt64: Int] = [:]

    func tally(_ stream: ChaosStream, _ receiver: Party) -> Tally { tallies[Sender.index(stream, receiver)] }
}

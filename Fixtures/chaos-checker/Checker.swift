import ChaosLedger
import FoundationEssentials

/// Reads the ledgers of a run while it lasts, deletes what is read, and says at the end what became of every event.
struct Checker {
    private let folder: String
    private let receivers = Party.allCases.map { Receiver($0) }
    private var senders: [UInt64: Sender] = [:]
    private var retired: Set<UInt64> = []
    private var seen: Set<String> = []
    private var totals = Array(repeating: Tally(), count: ChaosStream.allCases.count * Party.allCases.count)
    private var accepted = Array(repeating: 0, count: ChaosStream.allCases.count)
    private var unknown = 0
    private var looks = 0
    private var faults: [String] = []
    private var recordsAtSweep = 0

    private static let shownFaults = 40
    private static let recordsBetweenSweeps = 200_000

    init(folder: String) {
        self.folder = folder
    }

    /// - Returns: Whether anything was read.
    mutating func advance(isOver: Bool) throws -> Bool {
        try look()
        var hasRead = false
        for receiver in receivers {
            let hasMore = try receiver.read(
                isOver: isOver,
                look: looks,
                in: folder,
                { record, life, time in add(record, to: receiver.party, life: life, time: time) },
                finished: { try? FileManager.default.removeItem(atPath: $0) }
            )
            hasRead = hasRead || hasMore
        }
        if times.reduce(0, +) - recordsAtSweep > Self.recordsBetweenSweeps { sweep() }
        return hasRead
    }

    private var times: [Int] { receivers.map(\.time) }

    /// Finds new ledgers.
    private mutating func look() throws {
        looks += 1
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        var found: [(UInt64, UInt64, Party)] = []
        for name in names where !seen.contains(name) {
            guard let parsed = LedgerName(name) else { continue }
            seen.insert(name)
            switch parsed {
            case .sent(let party, let ordinal):
                let sender = try Sender(party, ordinal, path: folder + "/" + name, times: times)
                senders[sender.ledger.incarnation] = sender
            case .handled(let party, let ordinal, let segment): found.append((ordinal, segment, party))
            }
        }
        seen.formIntersection(names)
        for (ordinal, segment, party) in found.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
            receivers[Int(party.rawValue)].found(segment, of: ordinal, look: looks)
        }
    }

    private mutating func add(_ record: HandledRecord, to receiver: Party, life: UInt64, time: Int) {
        guard let sender = senders[record.incarnation] else {
            if retired.contains(record.incarnation) {
                unknown += 1
                note(record, receiver, life, Fault.settledLongAgo.rawValue)
            } else {
                // Its ledger may have come after the last look.
                try? look()
                if senders[record.incarnation] != nil { return add(record, to: receiver, life: life, time: time) }
                unknown += 1
                note(record, receiver, life, "from nobody who has a ledger")
            }
            return
        }
        switch sender.add(record, to: receiver, life: life, time: time) {
        case .success(nil): return
        case .success(let fault?): note(record, receiver, life, fault.rawValue)
        case .failure:
            unknown += 1
            note(record, receiver, life, "not meant for it")
        }
    }

    private mutating func note(_ record: HandledRecord, _ receiver: Party, _ life: UInt64, _ fault: String) {
        guard faults.count < Self.shownFaults else { return }
        let stream = ChaosStream(rawValue: record.stream).map { "\($0)" } ?? "stream \(record.stream)"
        faults.append(
            """
            \(stream) of life \(senders[record.incarnation]?.ordinal ?? 0), number \(record.number), attempt \(record.attempt), \
            handled by \(receiver.name) in life \(life): \(fault)
            """
        )
    }

    /// Lets go of lives of which nothing more can come.
    private mutating func sweep() {
        recordsAtSweep = times.reduce(0, +)
        let newest = Dictionary(senders.values.map { ($0.party, $0.ordinal) }) { max($0, $1) }
        for (incarnation, sender) in senders where sender.ordinal < newest[sender.party] ?? 0 {
            guard sender.isRetirable(times: times) else { continue }
            close(sender)
            senders[incarnation] = nil
            retired.insert(incarnation)
        }
    }

    private mutating func close(_ sender: Sender) {
        var lines: [String] = []
        sender.close(into: &totals, &accepted) { lines.append($0) }
        faults += lines.prefix(max(0, Self.shownFaults - faults.count))
        try? FileManager.default.removeItem(atPath: sender.path)
    }

    /// Takes stock when all has been read.
    mutating func finish(kills: Int) -> Report {
        for sender in senders.values.sorted(by: { $0.ordinal < $1.ordinal }) { close(sender) }
        return Report(totals: totals, accepted: accepted, unknown: unknown, faults: faults, kills: kills)
    }
}

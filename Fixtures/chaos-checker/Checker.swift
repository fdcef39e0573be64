import ChaosLedger
import FoundationEssentials

/// Reads the ledgers of a run while it lasts, deletes them when read, and reports at the end what became of all events.
struct Checker {
    private let folder: String
    private var receivers: [Receiver] = []
    /// How many records there are about each party as a receiver.
    private var times = Array(repeating: 0, count: Party.allCases.count)
    private var senders: [UInt64: Sender] = [:]
    private var retired: Set<UInt64> = []
    private var seen: Set<String> = []
    private var totals = Totals()
    private var unknown = 0
    private var looks = 0
    private var faults: [String] = []
    private var recordsAtSweep = 0

    private static let shownFaults = 60
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
                { record, life in add(record, receiver, life: life) },
                finished: { try? FileManager.default.removeItem(atPath: $0) }
            )
            hasRead = hasRead || hasMore
        }
        if times.reduce(0, +) - recordsAtSweep > Self.recordsBetweenSweeps { sweep() }
        return hasRead
    }

    /// Finds new ledgers.
    private mutating func look() throws {
        looks += 1
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        var found: [(ordinal: UInt64, segment: UInt64, party: Party, lane: Int)] = []
        for name in names where !seen.contains(name) {
            guard let parsed = LedgerName(name) else { continue }
            seen.insert(name)
            switch parsed {
            case .sent(let party, let ordinal):
                let sender = try Sender(party, ordinal, path: folder + "/" + name, times: times)
                senders[sender.ledger.incarnation] = sender
            case .handled(let party, let lane, let ordinal, let segment): found.append((ordinal, segment, party, lane))
            }
        }
        seen.formIntersection(names)
        for ledger in found.sorted(by: { ($0.ordinal, $0.segment) < ($1.ordinal, $1.segment) }) {
            receiver(ledger.party, ledger.lane).found(ledger.segment, of: ledger.ordinal, look: looks)
        }
    }

    private mutating func receiver(_ party: Party, _ lane: Int) -> Receiver {
        if let known = receivers.first(where: { $0.party == party && $0.lane == lane }) { return known }
        let receiver = Receiver(party, lane: lane)
        receivers.append(receiver)
        return receiver
    }

    private mutating func add(_ record: HandledRecord, _ receiver: Receiver, life: UInt64) {
        guard let sender = senders[record.incarnation] else {
            if retired.contains(record.incarnation) {
                unknown += 1
                note(record, life, Fault.settledLongAgo.rawValue)
            } else {
                // The sender's ledger may have come after the last look.
                try? look()
                if senders[record.incarnation] != nil { return add(record, receiver, life: life) }
                unknown += 1
                note(record, life, "from a process without a ledger")
            }
            return
        }
        times[Int(record.receiver.rawValue)] += 1
        let time = times[Int(record.receiver.rawValue)]
        switch sender.add(record, life: life, lane: receiver.lane, time: time) {
        case .success(nil): return
        case .success(let fault?): note(record, life, fault.rawValue)
        case .failure:
            unknown += 1
            note(record, life, "not meant for it")
        }
    }

    private mutating func note(_ record: HandledRecord, _ life: UInt64, _ fault: String) {
        guard faults.count < Self.shownFaults else { return }
        let stream = ChaosStream(rawValue: record.stream).map { "\($0)" } ?? "stream \(record.stream)"
        faults.append(
            """
            \(stream) of life \(senders[record.incarnation]?.ordinal ?? 0), number \(record.number), attempt \(record.attempt), \
            handled by \(record.receiver.name) in life \(life): \(fault)
            """
        )
    }

    /// Forgets former lives of senders whose streams are finished.
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

    private mutating func close(_ sender: Sender, dead: Set<Int32> = []) {
        var lines: [String] = []
        sender.close(into: &totals, dead: dead) { lines.append($0) }
        faults += lines.prefix(max(0, Self.shownFaults - faults.count))
        try? FileManager.default.removeItem(atPath: sender.path)
    }

    /// Makes the report when everything has been read.
    mutating func finish(_ announcements: Announcements, attachments: Int) -> CheckReport {
        let dead = Set(announcements.deaths.map(\.process))
        for sender in senders.values.sorted(by: { $0.ordinal < $1.ordinal }) { close(sender, dead: dead) }
        return CheckReport(
            totals: totals,
            takenBack: takenBackFromLiving(dead),
            unknown: unknown,
            faults: faults,
            announcements: announcements,
            attachments: attachments
        )
    }

    /// How many events were handled again, or given up, although the process that had begun them did not die.
    private mutating func takenBackFromLiving(_ dead: Set<Int32>) -> [Party: Int] {
        var result: [Party: Int] = [:]
        for receiver in receivers {
            for (life, process) in receiver.processes where !dead.contains(process) {
                guard let count = totals.takenBack[life] else { continue }
                result[receiver.party, default: 0] += count
                guard faults.count < Self.shownFaults else { continue }
                faults.append(
                    "\(count) events that \(receiver.party.name) had begun in life \(life) came again, though it had not died"
                )
            }
        }
        return result
    }
}

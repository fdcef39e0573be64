import BridgePlatform
import ChaosLedger
import DomainEvents
import EventBridge
import Locks

/// Takes the bridge's reports during a run: passes on what the checker has to know, and keeps the reports of what must
/// not happen.
final class WorkerWatch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The faults that a run must not have, and how many events were lost in outboxes.
    struct Troubles {
        var unexpected: [String] = []
        var lostInOutboxes: UInt64 = 0
    }

    /// Counts of what may happen in a run.
    struct Figures {
        var recovered = 0
        var torn = 0
        var dropped = 0
        var letters: [EventDeadLettered.Cause: Int] = [:]
    }

    private let announcements: Announcements
    private let lock = Lock()
    private var troubles = Troubles()
    private var known = Figures()

    init(_ announcements: Announcements) {
        self.announcements = announcements
    }

    func subscribe(to publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: WorkerExited.self) { [self] event in exited(event) },
            publisher.subscribe(to: WorkerGaveUp.self) { [self] in
                complain("\($0.worker) was given up: \($0.reason)")
            },
            publisher.subscribe(to: WorkerOutput.self) { [self] in complain("\($0.worker) wrote: \($0.line)") },
            publisher.subscribe(to: WorkerUnresponsive.self) { [self] in
                complain("\($0.worker) was silent for \($0.silentMilliseconds) ms")
            },
            publisher.subscribe(to: EventsLost.self) { [self] event in
                complain("\(event.count.map { "\($0)" } ?? "some") events of \(event.worker) are lost: \(event.reason)")
            },
            publisher.subscribe(to: DeadLetterEvicted.self) { [self] in complain("a dead letter was evicted: \($0)") },
            publisher.subscribe(to: EventsDropped.self) { [self] event in dropped(event) },
        ]
    }

    private func exited(_ event: WorkerExited) {
        let signal = event.exit?.signalName
        let isOrderly = event.exit.map { $0.status == 0 } ?? false
        if !isOrderly, let process = event.pid, let party = Party(name: event.worker) {
            announcements.addDeath(of: process, party)
        }
        let isByHand = signal == "SIGKILL" || signal == "SIGTERM"
        if !event.wasAsked, !isByHand, !(isOrderly && event.worker == Party.demand.name) {
            complain("\(event.worker) ended by itself: \(event.reason)")
        }
        guard let outbox = event.outbox else { return }
        if let damage = outbox.damage { complain("\(event.worker)'s outbox: \(damage)") }
        lock.withLock {
            known.recovered += outbox.delivered
            known.torn += outbox.isTorn ? 1 : 0
            troubles.lostInOutboxes += outbox.lost
        }
    }

    private func dropped(_ event: EventsDropped) {
        guard let kind = ChaosKind(eventName: event.event) else {
            return complain("\(event.count) of \(event.event) dropped on the way to \(event.link): \(event.reason)")
        }
        lock.withLock { known.dropped += event.count }
        // If a worker drops an event on the way to the host, none of its receivers gets it.
        let receivers = event.link == "host" ? kind.receivers + [.witness] : [Party(name: event.link)].compactMap { $0 }
        for receiver in receivers { announcements.addDropped(event.count, kind, to: receiver) }
    }

    func noteLetter(_ cause: EventDeadLettered.Cause) {
        lock.withLock { known.letters[cause, default: 0] += 1 }
    }

    /// Notes something that must not happen.
    func complain(_ text: String) {
        lock.withLock { troubles.unexpected.append(text) }
    }

    var found: Troubles { lock.withLock { troubles } }

    var figures: Figures { lock.withLock { known } }
}

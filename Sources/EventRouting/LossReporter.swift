import BridgePlatform
import DomainEvents
import Locks

/// Gathers losses and announces them together, so that a flood of losses is not a flood of events.
final class LossReporter: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private struct Key: Hashable {
        let event: EventName
        let link: String

        var order: (String, String) { (link, event.text) }
    }

    /// For how many nanoseconds losses are gathered.
    private static let interval: UInt64 = 100_000_000

    private let publisher: EventPublisher
    private let reports: ReportStrand
    private let poller: Poller
    private let lock = Lock()
    private struct Losses {
        var count = 0
        let first: EventID
        var last: EventID
        let reason: String
    }

    private var losses: [Key: Losses] = [:]
    private var isScheduled = false
    /// Whether the announcement waits in the strand of the reports; it will include all losses up to its turn.
    private var isQueued = false

    init(publisher: EventPublisher, reports: ReportStrand, poller: Poller) {
        self.publisher = publisher
        self.reports = reports
        self.poller = poller
    }

    func add(event: String, id: EventID, link: String, reason: String) {
        // A loss of the announcement itself is not announced.
        guard event != EventsDropped.eventName else { return }
        let starts = lock.withLock {
            let key = Key(event: EventName(event), link: link)
            var known = losses[key] ?? Losses(first: id, last: id, reason: reason)
            known.count += 1
            known.last = id
            losses[key] = known
            defer { isScheduled = true }
            return !isScheduled
        }
        guard starts else { return }
        _ = poller.schedule(after: Self.interval) { self.announce() }
    }

    /// Announces the losses gathered so far, after earlier reports; forgets them if nothing wants the announcement.
    func announce() {
        let isWanted = publisher.isReached(by: EventsDropped.self)
        let hasNews = lock.withLock {
            guard isWanted else {
                losses = [:]
                isScheduled = isQueued
                return false
            }
            guard !losses.isEmpty, !isQueued else { return false }
            isQueued = true
            return true
        }
        if hasNews { reports.perform { self.tell() } }
    }

    private func tell() {
        let gathered = lock.withLock {
            defer {
                losses = [:]
                isScheduled = false
                isQueued = false
            }
            return losses
        }
        for (key, loss) in gathered.sorted(by: { $0.key.order < $1.key.order }) {
            publisher.publish(
                EventsDropped(
                    event: key.event.text,
                    link: key.link,
                    count: loss.count,
                    first: loss.first.description,
                    last: loss.last.description,
                    reason: loss.reason
                )
            )
        }
    }
}

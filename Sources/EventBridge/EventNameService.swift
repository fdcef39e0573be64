import BridgeControl
import DomainEvents
import EventRouting

/// Answers the questions about the names of events: which processes want and publish what.
///
/// The answer comes from the router's tables and the specifications, so the service adds no cost to an event.
final class EventNameService: Sendable {
    /// An answer that has this many bytes of names takes no further name.
    private static let mostBytes = 256 << 10

    private let core: HostCore

    init(_ core: HostCore) {
        self.core = core
    }

    /// Takes questions until the subscription ends.
    func open() -> Subscription {
        let publisher = core.publisher
        return publisher.subscribe(to: EventNamesRequested.self) { [weak self] in
            if let self { publisher.publish(report(after: $0.after)) }
        }
    }

    private func report(after last: String) -> EventNamesReported {
        var reports: [EventName: EventNameReport] = [:]
        for wish in core.router.wishes {
            reports[EventName(wish.name)] = EventNameReport(name: wish.name, wantedBy: wish.peers)
        }
        for index in core.indices {
            let worker = core.worker(index)
            let process = worker.peer.pool?.name ?? worker.specification.name
            for name in worker.specification.publishes ?? [] {
                var report = reports[EventName(name)] ?? EventNameReport(name: name)
                if report.publishedBy.last != process { report.publishedBy.append(process) }
                reports[EventName(name)] = report
            }
        }
        let found = reports.values.filter { last.utf8.lexicographicallyPrecedes($0.name.utf8) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        var names: [EventNameReport] = []
        var bytes = 0
        for var report in found {
            guard names.count < EventNamesReported.mostNames, bytes < Self.mostBytes else { break }
            report.wantedBy = Array(report.wantedBy.prefix(EventNameReport.mostProcesses))
            report.publishedBy = Array(report.publishedBy.prefix(EventNameReport.mostProcesses))
            bytes += report.name.utf8.count
            for process in report.wantedBy + report.publishedBy { bytes += process.utf8.count }
            names.append(report)
        }
        return EventNamesReported(names: names, isComplete: names.count == found.count)
    }
}

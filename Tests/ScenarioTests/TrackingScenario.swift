import DomainEvents
import Locks
import Testing

/// Everything that the reading app announces on its one bus.
private enum ReaderEvent: DomainEvent {
    case article(String, Interaction)
    case configuration(Loading)
    case user(Account)

    enum Interaction: Codable, Sendable {
        case opened
        case gesture(Gesture)
    }

    enum Gesture: Codable, Sendable {
        case swiped
        case tapped(x: Int, y: Int)
    }

    enum Loading: Codable, Sendable {
        case loaded(version: Int64)
        case failed(reason: String)
    }

    enum Account: String, Codable, Sendable { case loggedIn, loggedOut }
}

/// One class for each tracking system, so that one more or one less touches nothing else.
private class Tracker: @unchecked Sendable {
    // Sendable: `reported` is guarded by `lock`.
    private let lock = Lock()
    private var reported: [String] = []

    var reports: [String] { lock.withLock { reported } }

    func report(_ text: String) { lock.withLock { reported.append(text) } }
}

/// Tracks what users touch, however deep that is in the enum.
private final class HeatMap: Tracker, EventConsumer, @unchecked Sendable {
    func consume(_ event: ReaderEvent) {
        switch event {
        case .article(let title, .gesture(.tapped(let x, let y))): report("\(title) \(x),\(y)")
        default: break
        }
    }
}

/// Tracks failures and users.
private final class Audit: Tracker, EventConsumer, @unchecked Sendable {
    func consume(_ event: ReaderEvent) {
        switch event {
        case .configuration(.failed(let reason)): report("configuration: \(reason)")
        case .configuration(.loaded(let version)): report("configuration \(version)")
        case .user(let account): report(account.rawValue)
        case .article: break
        }
    }
}

/// A tracker that fails must not keep the others from tracking.
private final class BrokenTracker: EventConsumer {
    struct Offline: Error, CustomStringConvertible { var description: String { "offline" } }

    func consume(_ event: ReaderEvent) throws { throw Offline() }
}

/// A tracker behind an actor.
private actor Archive: EventConsumingActor {
    private(set) var count = 0

    func consume(_ event: ReaderEvent) async { count += 1 }
}

@Suite("Scenario: tracking consumers pick what they want out of one enum", .timeLimit(.minutes(5)))
struct TrackingScenario {
    private let publisher = EventPublisher()

    private static let day: [ReaderEvent] = [
        .user(.loggedIn), .configuration(.failed(reason: "no network")), .configuration(.loaded(version: 1 << 53 + 1)),
        .article("News", .opened), .article("News", .gesture(.swiped)), .article("News", .gesture(.tapped(x: 3, y: 4))),
        .user(.loggedOut),
    ]

    @Test func eachGetsItsOwn() {
        let (heatMap, audit) = (HeatMap(), Audit())
        publisher.subscribe(heatMap)
        publisher.subscribe(audit)
        for event in Self.day { publisher.publish(event) }
        #expect(heatMap.reports == ["News 3,4"])
        #expect(
            audit.reports == ["loggedIn", "configuration: no network", "configuration 9007199254740993", "loggedOut"]
        )
    }

    @Test func noSubscriberHasToUnsubscribe() {
        weak var gone: HeatMap?
        do {
            let heatMap = HeatMap()
            gone = heatMap
            publisher.subscribe(heatMap)
            publisher.subscribe(heatMap)
            publisher.publish(ReaderEvent.article("A", .gesture(.tapped(x: 1, y: 1))))
            #expect(heatMap.reports == ["A 1,1"])
        }
        #expect(gone == nil)
        publisher.publish(ReaderEvent.user(.loggedOut))
        #expect(!publisher.isWanted("ReaderEvent"))
    }

    @Test func oneThatFailsIsReportedAndDisturbsNoOther() {
        let (broken, audit) = (BrokenTracker(), Audit())
        let failures = Tracker()
        let subscription = publisher.subscribe(to: HandlerFailed.self) { failures.report("\($0.event): \($0.error)") }
        publisher.subscribe(broken)
        publisher.subscribe(audit)
        publisher.publish(ReaderEvent.user(.loggedIn))
        publisher.publish(ReaderEvent.user(.loggedOut))
        #expect(audit.reports == ["loggedIn", "loggedOut"])
        #expect(failures.reports == ["ReaderEvent: offline", "ReaderEvent: offline"])
        withExtendedLifetime((subscription, broken)) {}
    }

    @Test func anActorGetsAllOfThemToo() async throws {
        let archive = Archive()
        publisher.subscribe(archive)
        for event in Self.day.dropLast() { publisher.publish(event) }
        try await publisher.deliver(ReaderEvent.user(.loggedOut), within: .seconds(50))
        #expect(await archive.count == Self.day.count)
    }
}

import Dispatch
import DomainEvents
import TestSupport
import Testing

private enum CanvasEvent: DomainEvent, Equatable {
    enum Change: Codable, Equatable {
        case moved(x: Int, y: Int)
        case coloured(Colour)
    }
    enum Colour: String, Codable { case red, blue }

    case saved(Int)
    case changed(Change)
    case savingFailed(Int, reason: String)
}

private final class Tracking: EventConsumer {
    let log: Collected<Int>
    let tracked: Tracked
    init(_ log: Collected<Int>, _ live: Counter = Counter()) {
        self.log = log
        tracked = Tracked(live)
    }
    func consume(_ event: Ping) throws {
        log.add(event.number)
        if event.number < 0 { throw Refused(number: event.number) }
    }
}

@MainActor private final class Window: MainActorEventConsumer {
    var lines: [String] = []
    let log: Collected<Int>
    init(_ log: Collected<Int>) { self.log = log }
    func consume(_ event: CanvasEvent) {
        switch event {
        case .saved(let id): lines.append("saved \(id)")
        case .changed(.moved(let x, let y)): lines.append("moved \(x) \(y)")
        case .changed(.coloured(let colour)): lines.append("coloured \(colour)")
        case .savingFailed(let id, let reason): lines.append("failed \(id) \(reason)")
        }
        log.add(lines.count)
    }
}

private actor Store: EventConsumingActor {
    let log: Collected<Int>
    let tracked: Tracked
    private var running = 0
    init(_ log: Collected<Int>, _ live: Counter = Counter()) {
        self.log = log
        tracked = Tracked(live)
    }
    func consume(_ event: Ping) async throws {
        running += 1
        #expect(running == 1)
        await Task.yield()
        running -= 1
        log.add(event.number)
        if event.number < 0 { throw Refused(number: event.number) }
    }
}

/// Holds up the first thread that comes to a place, until it is let go.
private final class HeldObserver: InterestObserver {
    let isBridge = false
    let isHeld = Flag()
    let isLetGo = Flag()
    let announcements = Counter()
    private let place: ConsumerTests.Place
    private let arrivals = Counter()

    init(at place: ConsumerTests.Place) { self.place = place }

    func channelWasMade(_ channel: AnyEventChannel) { if place == .channel { hold() } }

    func interestMayHaveChanged(in name: String) {
        announcements.add()
        if place == .announcement { hold() }
    }

    private func hold() {
        guard arrivals.add() == 1 else { return }
        isHeld.set()
        waitUntil { isLetGo.isSet }
    }
}

@Suite("An object that consumes events is held weakly and subscribed once", .timeLimit(.minutes(5)))
struct ConsumerTests {
    private let publisher = EventPublisher()
    private let numbers = Array(0..<500)

    @Test func aPlainObjectIsCalledOnThePublishingThreadUntilItIsUnsubscribed() {
        let log = Collected<Int>()
        let tracking = Tracking(log)
        publisher.subscribe(tracking)
        publisher.subscribe(tracking)
        for number in numbers { publisher.publish(Ping(number)) }
        publisher.unsubscribe(tracking)
        publisher.unsubscribe(tracking)
        publisher.publish(Ping(-1))
        #expect(log.all == numbers)
        publisher.subscribe(tracking)
        publisher.publish(Ping(7))
        #expect(log.all == numbers + [7])
        publisher.unsubscribe(tracking)
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func aPlainObjectIsCalledOnThePublishersQueueIfItHasOne() async {
        let queue = DispatchQueue(label: "subsystem")
        let publisher = EventPublisher(deliveringOn: .queue(queue))
        let log = Collected<Int>()
        let tracking = Tracking(log)
        publisher.subscribe(tracking)
        queue.suspend()
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(log.count == 0)
        queue.resume()
        #expect(await log.wait(for: numbers.count) == numbers)
        publisher.unsubscribe(tracking)
    }

    @MainActor
    @Test func anObjectOnTheMainActorSwitchesOverNestedCases() async {
        let log = Collected<Int>()
        let window = Window(log)
        publisher.subscribe(window)
        publisher.subscribe(window)
        let events: [CanvasEvent] = [
            .saved(1), .changed(.moved(x: 2, y: 3)), .changed(.coloured(.blue)), .savingFailed(4, reason: "full"),
        ]
        for event in events { publisher.publish(event) }
        await log.wait(for: events.count)
        #expect(window.lines == ["saved 1", "moved 2 3", "coloured blue", "failed 4 full"])
        publisher.publish(CanvasEvent.saved(5))
        publisher.unsubscribe(window)
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(window.lines.count == 4)
    }

    @Test func anActorIsCalledOneEventAfterTheOther() async {
        let log = Collected<Int>()
        let store = Store(log)
        publisher.subscribe(store)
        publisher.subscribe(store)
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        publisher.unsubscribe(store)
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func whatItThrowsIsReportedWithItsSite() async throws {
        var failures = publisher.events(of: HandlerFailed.self).makeAsyncIterator()
        let tracking = Tracking(Collected())
        let line = #line + 1
        publisher.subscribe(tracking)
        publisher.publish(Ping(-3))
        let failure = try await failures.next()
        #expect(failure?.error == "refused -3")
        #expect(failure?.handler == "\(#fileID):\(line)")
        publisher.unsubscribe(tracking)
        let store = Store(Collected())
        publisher.subscribe(store)
        publisher.publish(Ping(-4))
        #expect(try await failures.next()?.error == "refused -4")
    }

    @Test func itsDeathEndsTheSubscriptionWithTheNextEventAtTheLatest() async {
        let live = Counter()
        let log = Collected<Int>()
        do {
            let tracking = Tracking(log, live)
            let store = Store(log, live)
            publisher.subscribe(tracking)
            publisher.subscribe(store)
            publisher.publish(Ping(1))
            await log.wait(for: 2)
        }
        // The call that has just returned may hold the actor a moment longer.
        while live.count > 0 { await Task.yield() }
        publisher.publish(Ping(2))
        while publisher.isWanted("Ping") { await Task.yield() }
        #expect(log.count == 2)
    }

    @Test func anotherObjectAtTheSameAddressIsAnotherOne() {
        let log = Collected<Int>()
        for number in numbers {
            let tracking = Tracking(log)
            publisher.subscribe(tracking)
            publisher.publish(Ping(number))
        }
        #expect(log.all == numbers)
    }

    @Test func onceAlsoFromEightThreadsAtTheSameTime() async {
        for round in 0..<rounds(100) {
            let log = Collected<Int>()
            let tracking = Tracking(log)
            let ready = Counter()
            await onThreads(8) { [publisher] _ in
                ready.add()
                ready.waitSpinning(for: 8)
                publisher.subscribe(tracking)
            }
            publisher.publish(Ping(round))
            #expect(log.all == [round])
            publisher.unsubscribe(tracking)
            publisher.publish(Ping(-1))
            #expect(log.count == 1)
        }
    }

    /// Where a call of `subscribe` is held up.
    enum Place: CaseIterable { case channel, announcement }

    @Test("it gets what is published after a second call, though the first is held up", arguments: Place.allCases)
    func secondCallWhileTheFirstIsHeldUp(at place: Place) async {
        let (log, seen) = (Collected<Int>(), Collected<Int>())
        let tracking = Tracking(log)
        let observer = HeldObserver(at: place)
        publisher.addInterestObserver(observer)
        await onThreads(2) { [publisher] thread in
            if thread == 0 { return publisher.subscribe(tracking) }
            waitUntil { observer.isHeld.isSet }
            publisher.subscribe(tracking)
            seen.add(observer.announcements.count)
            publisher.publish(Ping(1))
            seen.add(log.count)
            observer.isLetGo.set()
        }
        // Bridges have heard of it by then, too.
        #expect(seen.all == [place == .channel ? 1 : 2, 1])
        publisher.publish(Ping(2))
        #expect(log.all == [1, 2])
        publisher.unsubscribe(tracking)
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func onceWhateverSeveralThreadsSubscribeAndUnsubscribe() async {
        // Each thread unsubscribes last, so no subscription may be left.
        let log = Collected<Int>()
        let tracking = Tracking(log)
        let count = rounds(3_000)
        await onThreads(4) { [publisher] thread in
            for number in 0..<count {
                publisher.subscribe(tracking)
                if number % 4 == thread { publisher.publish(Ping(number)) }
                publisher.unsubscribe(tracking)
            }
        }
        #expect(!publisher.isWanted("Ping"))
        let seen = log.count
        publisher.publish(Ping(-1))
        #expect(log.count == seen)
    }

    @Test func itMayUnsubscribeItselfAndSubscribeAgainInsideItsCall() {
        final class Restless: EventConsumer {
            let publisher: EventPublisher
            let log = Collected<Int>()
            init(_ publisher: EventPublisher) { self.publisher = publisher }
            func consume(_ event: Ping) {
                log.add(event.number)
                publisher.unsubscribe(self)
                publisher.subscribe(self)
            }
        }
        let restless = Restless(publisher)
        publisher.subscribe(restless)
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(restless.log.all == numbers)
        publisher.unsubscribe(restless)
        #expect(!publisher.isWanted("Ping"))
    }
}

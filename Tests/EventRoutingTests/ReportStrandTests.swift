import BridgePlatform
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import EventRouting

private struct StrandReport: DomainEvent, SelfReport {
    let number: Int
}

@Suite("What a bridge reports goes out on a thread of its own", .timeLimit(.minutes(1)))
struct ReportStrandTests {
    private let publisher = EventPublisher()
    private let poller: Poller
    private let strand: ReportStrand

    init() throws {
        poller = try Poller(name: "report test")
        strand = ReportStrand(publisher: publisher, poller: poller)
    }

    @Test("in the order in which reports were made, one at a time, on another thread than theirs")
    func order() async {
        let (told, threads) = (Collected<Int>(), Collected<UInt64>())
        let subscription = publisher.subscribe(to: StrandReport.self) {
            threads.add(CurrentThread.identifier)
            told.add($0.number)
        }
        for number in 0..<1_000 { strand.publish(StrandReport(number: number)) }
        await strand.passed()
        #expect(told.all == Array(0..<1_000))
        #expect(Set(threads.all).count == 1 && threads.all.first != CurrentThread.identifier)
        subscription.cancel()
    }

    @Test("with the cause that they name, and with the time at which they were made, however late they are told")
    func context() async {
        let (gate, contexts) = (HeldHandler(), Collected<EventContext?>())
        let subscription = publisher.subscribe(to: StrandReport.self) { _ in
            gate.wait()
            contexts.add(EventContext.current)
        }
        let cause = publisher.makeContext(causedBy: nil)
        strand.publish(StrandReport(number: 0))
        await gate.isEntered()
        strand.publish(StrandReport(number: 1), causedBy: cause)
        let later = publisher.makeContext(causedBy: nil)
        gate.open()
        await contexts.wait(for: 2)
        let second = contexts.all.last.flatMap(\.self)
        #expect(second?.cause == cause.id)
        #expect(second?.nanosecondsSinceEpoch ?? .max <= later.nanosecondsSinceEpoch)
        #expect(contexts.all.first.flatMap(\.self)?.cause == nil)
        subscription.cancel()
    }

    @Test("and a report without subscribers starts no thread; one with a subscriber does, until the bridge ends")
    func thread() async {
        strand.publish(StrandReport(number: 0))
        #expect(!strand.isRunning)
        // Until it has been looked at: a thread without reports lingers a second only.
        let gate = HeldHandler()
        let subscription = publisher.subscribe(to: StrandReport.self) { _ in gate.wait() }
        strand.publish(StrandReport(number: 1))
        #expect(strand.isRunning)
        gate.open()
        await strand.passed()
        strand.end()
        while strand.isRunning { await Task.yield() }
        strand.publish(StrandReport(number: 2))
        await strand.passed()
        while strand.isRunning { await Task.yield() }
        subscription.cancel()
    }

    @Test("a bounded number waits for a handler that does not return: the others are counted and announced")
    func bound() async {
        let (gate, told, dropped) = (HeldHandler(), Collected<Int>(), Collected<EventsDropped>())
        let subscriptions = [
            publisher.subscribe(to: StrandReport.self) {
                gate.wait()
                told.add($0.number)
            },
            publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
        ]
        strand.publish(StrandReport(number: 0))
        await gate.isEntered()
        for number in 1...70_000 { strand.publish(StrandReport(number: number)) }
        gate.open()
        // One in the handler's hands, and 65,536 behind it.
        #expect(await told.wait(for: 65_537) == Array(0...65_536))
        let lost = await dropped.wait(for: 1)
        #expect(lost.map(\.event) == [StrandReport.eventName])
        #expect(lost.first?.count == 70_000 - 65_536)
        #expect(lost.first?.link == publisher.source.origin)
        // There is room again.
        strand.publish(StrandReport(number: 70_001))
        #expect(await told.wait(for: 65_538).last == 70_001)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("and a wait for their delivery keeps its limit if a handler does not return")
    func waitLimit() async {
        let gate = HeldHandler()
        let subscription = publisher.subscribe(to: StrandReport.self) { _ in gate.wait() }
        let begin = MonotonicClock.now()
        strand.publish(StrandReport(number: 0))
        await gate.isEntered()
        await strand.passed()
        #expect(MonotonicClock.now() - begin >= ReportStrand.waitLimit)
        // It has been waited for: not by each anew.
        for _ in 1...4 {
            // The order of the timers tells, as a pause of the machine does not change it.
            let ended = Collected<String>()
            strand.whenPassed { ended.add("wait") }
            poller.schedule(after: 0) { ended.add("timer") }
            #expect(await ended.wait(for: 2) == ["wait", "timer"])
        }
        gate.open()
        subscription.cancel()
    }

    @Test("losses are gathered while a handler of losses is held, and told together")
    func losses() async {
        let (gate, told) = (HeldHandler(), Collected<EventsDropped>())
        let subscription = publisher.subscribe(to: EventsDropped.self) {
            gate.wait()
            told.add($0)
        }
        let losses = LossReporter(publisher: publisher, reports: strand, poller: poller)
        func lose(_ count: Int) {
            for _ in 0..<count {
                let id = publisher.makeContext(causedBy: nil).id
                losses.add(event: "Left", id: id, link: "worker", reason: "it was stopped")
            }
        }
        lose(1)
        losses.announce()
        await gate.isEntered()
        for _ in 0..<100 {
            lose(10)
            losses.announce()
        }
        gate.open()
        #expect(await told.wait(for: 2).map(\.count) == [1, 1_000])
        subscription.cancel()
    }
}

/// Holds a handler up until it is opened, and says that it does.
private final class HeldHandler: Sendable {
    private let entered = Collected<Void>()
    private let opened = Collected<Void>()

    func wait() {
        entered.add(())
        waitUntil { opened.count != 0 }
    }

    func isEntered() async { await entered.wait(for: 1) }

    func open() { opened.add(()) }
}

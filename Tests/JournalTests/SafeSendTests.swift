import Dispatch
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import Journal

/// Calls that return behind the synchronization, and calls that do not wait for it.
@Suite("Sending behind a synchronization", .timeLimit(.minutes(2)))
struct SafeSendTests {
    /// A journal whose first synchronization is held, and a task that makes a call.
    private final class Held: @unchecked Sendable {
        // Sendable: constant, or guarded by its own lock.
        let scratch: ScratchJournal
        let storage: FaultyStorage
        let journal: EventJournal
        let publisher: EventPublisher
        private let synchronizationsBefore: Int
        private let baton = Baton()
        private let returned = Collected<Bool>()

        init(_ durability: JournalDurability = .machine(within: .seconds(3_600))) async throws {
            scratch = try ScratchJournal()
            storage = try FaultyStorage(at: scratch.path)
            (journal, publisher) = try FaultTests.journal(on: storage, durability)
            // Making the next segment synchronizes, too.
            await journal.waitForSpare()
            synchronizationsBefore = storage.synchronizations
            storage.holdSynchronization(by: baton)
        }

        /// Makes the call, and checks that it returns behind the synchronization of this many events.
        func check(events: UInt64 = 1, _ call: @escaping @Sendable (EventPublisher) async throws -> Void) async throws {
            let task = Task { [publisher, returned, journal] in
                try await call(publisher)
                returned.add(true)
                return journal.status.safePosition
            }
            while journal.status.lastPosition < events {
                try Task.checkCancellation()
                await Task.yield()
            }
            // Only a caller that waits brings about the synchronization, in which the journal's thread waits.
            while synchronizations == 0, returned.all.isEmpty {
                try Task.checkCancellation()
                await Task.yield()
            }
            // A caller that does not wait for its end would be back by now, or this test finds nothing.
            for _ in 0..<1_000 { await Task.yield() }
            #expect(journal.status.safePosition == 0 && returned.all.isEmpty)
            baton.handOver()
            #expect(try await task.value >= events)
            await journal.close()
        }

        var synchronizations: Int { storage.synchronizations - synchronizationsBefore }

        func release() { baton.handOver() }
    }

    @Test("send returns when its event is safe")
    func sends() async throws {
        try await Held().check { try await $0.send(Counted(number: 1)) }
    }

    @Test("send of an event without a type, and with a bookmark, does so, too", arguments: [false, true])
    func sendsInOtherWays(isUntyped: Bool) async throws {
        let held = try await Held()
        if isUntyped {
            held.journal.record(named: ["Weighed"], of: held.publisher)
            try await held.check { try await $0.send(try UntypedEvent(name: "Weighed", payload: [0xA0])) }
        } else {
            try await held.check { try await $0.send(Counted(number: 1), bookmark: EventBookmark("1")) }
        }
    }

    @Test("send inside a handler does so, too: only handlers make room, but no handler makes an event safe")
    func sendsInHandler() async throws {
        let held = try await Held()
        let subscription = held.publisher.subscribe(to: Colored.self) { [publisher = held.publisher] _ async throws in
            try await publisher.send(Counted(number: 1))
        }
        try await held.check { try await $0.deliver(Colored(color: "red"), within: .seconds(60)) }
        subscription.cancel()
    }

    @Test("deliver ends when its task is cancelled, before and after its event is safe", arguments: [false, true])
    func deliverIsCancelled(isSafe: Bool) async throws {
        let held = try await Held()
        let unsettled = Collected<UnsettledDelivery<Counted>>()
        let subscription = held.publisher.subscribe(
            to: Counted.self,
            on: .queue(.global()),
            acknowledging: .manually
        ) { unsettled.add($0) }
        let call = Task { [publisher = held.publisher] in
            try await publisher.deliver(Counted(number: 1), within: .seconds(60))
        }
        await unsettled.wait(for: 1)
        #expect(held.journal.status.lastPosition == 1 && held.journal.status.safePosition == 0)
        if isSafe { held.release() }
        while isSafe, held.journal.status.safePosition == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        if !isSafe {
            #expect(held.journal.status.safePosition == 0)
            held.release()
        }
        for delivery in unsettled.all { delivery.acknowledge() }
        await held.journal.close()
        #expect(held.journal.status.safePosition == 1)
        subscription.cancel()
    }

    @Test("send to a linked publisher waits for that publisher's journal")
    func sendsToLinked() async throws {
        let held = try await Held()
        let front = EventPublisher()
        let link = front.forward(Counted.self, to: held.publisher)
        try await held.check { _ in try await front.send(Counted(number: 1)) }
        link.cancel()
    }

    @Test("request returns when the request and its answer are safe")
    func requests() async throws {
        let held = try await Held()
        try held.journal.record(Colored.self, of: held.publisher)
        let subscription = held.publisher.subscribe(to: Counted.self) { [publisher = held.publisher] _ in
            publisher.publish(Colored(color: "red"))
        }
        try await held.check(events: 2) { publisher in
            let answer = try await publisher.request(
                Counted(number: 1),
                awaiting: Colored.self,
                within: .seconds(60)
            )
            #expect(answer.color == "red")
        }
        subscription.cancel()
    }

    @Test("A request whose answer does not become safe in time has timed out")
    func requestInTime() async throws {
        let held = try await Held()
        let subscription = held.publisher.subscribe(to: Counted.self) { [publisher = held.publisher] _ in
            publisher.publish(Colored(color: "red"))
        }
        let error = await #expect(throws: DeliveryError.self) {
            try await held.publisher.request(
                Counted(number: 1),
                awaiting: Colored.self,
                within: .milliseconds(20)
            )
        }
        #expect(error?.code == .timedOut)
        held.release()
        await held.journal.close()
        subscription.cancel()
    }

    @Test("If the synchronization fails, send and request say so", arguments: [false, true])
    func failures(isRequest: Bool) async throws {
        let held = try await Held()
        held.release()
        held.storage.failSynchronizations(1)
        let subscription = held.publisher.subscribe(to: Counted.self) { [publisher = held.publisher] _ in
            publisher.publish(Colored(color: "red"))
        }
        let error = await #expect(throws: JournalError.self) {
            if isRequest {
                _ = try await held.publisher.request(
                    Counted(number: 1),
                    awaiting: Colored.self,
                    within: .seconds(60)
                )
            } else {
                try await held.publisher.send(Counted(number: 1))
            }
        }
        #expect(error?.code == .system)
        await held.journal.close()
        subscription.cancel()
    }

    /// Keeps a journal open until a test lets go of it.
    private final class Owner: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        private let lock = Lock()
        private var journal: EventJournal?

        init(_ journal: EventJournal) { self.journal = journal }

        func release() {
            let journal = lock.withLock { self.journal.take() }
            withExtendedLifetime(journal) {}
        }
    }

    @Test(
        "If the journal is released while it makes an event safe, and that fails, send and request say so",
        arguments: [false, true],
        [false, true]
    )
    func failuresOfReleased(isRequest: Bool, isLinked: Bool) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (owner, recorded) = try await {
            let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
            await journal.waitForSpare()
            return (Owner(journal), publisher)
        }()
        storage.failSynchronizations(1)
        let publisher = isLinked ? EventPublisher() : recorded
        let link = isLinked ? publisher.forward(Counted.self, to: recorded) : nil
        let subscription = publisher.subscribe(to: Counted.self) { [publisher] _ in
            owner.release()
            publisher.publish(Colored(color: "red"))
        }
        let error = await #expect(throws: JournalError.self) {
            if isRequest {
                _ = try await publisher.request(Counted(number: 1), awaiting: Colored.self, within: .seconds(60))
            } else {
                try await publisher.send(Counted(number: 1))
            }
        }
        #expect(error?.code == .system)
        link?.cancel()
        subscription.cancel()
    }

    @Test("A request waits for each journal that has recorded its answer, even one that is released meanwhile")
    func answerOfReleased() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .seconds(3_600))
        settings.segmentBytes = 64 << 10
        let publisher = EventPublisher()
        let owner = try await {
            let journal = try EventJournal(storage, at: "test", lock: nil, settings)
            await journal.waitForSpare()
            try journal.record(Colored.self, of: publisher)
            return Owner(journal)
        }()
        storage.failSynchronizations(1)
        let subscription = publisher.subscribe(to: Counted.self) { [publisher] _ in
            publisher.publish(Colored(color: "red"))
        }
        let error = await #expect(throws: JournalError.self) {
            try await publisher.request(Counted(number: 1), awaiting: Colored.self, within: .seconds(60)) { _ in
                owner.release()
                return true
            }
        }
        #expect(error?.code == .system)
        subscription.cancel()
    }

    @Test("With .process, send waits for nothing")
    func process() async throws {
        let held = try await Held(.process)
        try await held.publisher.send(Counted(number: 1))
        #expect(held.journal.status.safePosition == 1 && held.synchronizations == 0)
        held.release()
        await held.journal.close()
    }
}

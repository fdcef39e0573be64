import Locks
import Synchronization
import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An object whose end can be seen.
private final class Tracked: Sendable {}

extension PlatformTests {
    @Suite("A poller calls those whose descriptors have something")
    struct PollerDescriptorTests {
        @Test
        func readableIsReportedForAsLongAsItLasts() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pair = try UnixSocket.pair()
                        let seen = Mailbox<Poller.Readiness>()
                        let registration = try poller.register(pair.first.rawValue, interest: .readable) {
                            seen.put($0)
                        }
                        writeAll(pair.second.rawValue, [1])
                        #expect(try seen.wait(for: 3).allSatisfy { $0 == .readable })
                        registration.cancel()
                    }
                }
            }
        }

        @Test
        func edgeTriggeredIsReportedOncePerChange() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                let seen = Mailbox<Poller.Readiness>()
                let registration = try poller.register(pair.first.rawValue, interest: [.readable, .edgeTriggered]) {
                    seen.put($0)
                }
                writeAll(pair.second.rawValue, [1])
                try seen.wait(for: 1)
                // Three turns without a change: a level-triggered registration would be called in each.
                for _ in 0..<3 { try completeTurn(of: poller) }
                #expect(seen.contents.count == 1)
                writeAll(pair.second.rawValue, [1])
                try seen.wait(for: 2)
                registration.cancel()
            }
        }

        @Test
        func writableIsReportedOnlyWhileThereIsRoom() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                let chunk = [UInt8](repeating: 0, count: 65_536)
                while case .transferred = chunk.withUnsafeBytes({ UnixSocket.send(pair.first.rawValue, $0) }) {}
                let seen = Mailbox<Poller.Readiness>()
                let registration = try poller.register(pair.first.rawValue, interest: .writable) { seen.put($0) }
                for _ in 0..<3 { try completeTurn(of: poller) }
                #expect(seen.contents.isEmpty)
                var buffer = chunk
                while case .transferred = buffer.withUnsafeMutableBytes({
                    UnixSocket.receive(pair.second.rawValue, into: $0, blocking: false)
                }) {}
                let first = try seen.wait()[0]
                #expect(first == .writable)
                registration.cancel()
            }
        }

        @Test
        func hangUpOfThePeerIsTheHalfAndThenTheWhole() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                let seen = Mailbox<Poller.Readiness>()
                let registration = try poller.register(pair.first.rawValue, interest: [.peerHangUp, .edgeTriggered]) {
                    seen.put($0)
                }
                UnixSocket.shutdownWrite(pair.second.rawValue)
                #expect(try seen.wait()[0].contains(.peerHangUp))
                #expect(!seen.contents[0].contains(.hangUp))
                pair.second.close()
                #expect(try seen.wait(until: { $0.contains { $0.contains(.hangUp) } }).isEmpty == false)
                registration.cancel()
            }
        }

        @Test
        func anEmptyInterestPausesEvenAfterAHangUp() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                let seen = Mailbox<Poller.Readiness>()
                let registration = try poller.register(pair.first.rawValue, interest: []) { seen.put($0) }
                pair.second.close()
                for _ in 0..<3 { try completeTurn(of: poller) }
                #expect(seen.contents.isEmpty)
                try registration.update(.readable)
                try seen.wait()
                try registration.update([])
                try completeTurn(of: poller)
                let count = seen.contents.count
                for _ in 0..<3 { try completeTurn(of: poller) }
                #expect(seen.contents.count == count)
                registration.cancel()
            }
        }

        @Test
        func aDescriptorCannotBeRegisteredTwice() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                let registration = try poller.register(pair.first.rawValue, interest: .readable) { _ in }
                let error = #expect(throws: SystemError.self) {
                    _ = try poller.register(pair.first.rawValue, interest: .readable) { _ in }
                }
                #expect(error?.code == EEXIST)
                registration.cancel()
                registration.cancel()
                try poller.register(pair.first.rawValue, interest: .readable) { _ in }.cancel()
            }
        }

        @Test
        func aHandlerMayCancelItself() throws {
            try withPoller { poller in
                let pair = try UnixSocket.pair()
                writeAll(pair.second.rawValue, [1])
                let box = Mailbox<Poller.Registration>()
                let calls = Mailbox<Bool>()
                let registration = try poller.register(pair.first.rawValue, interest: .readable) { _ in
                    guard let registration = box.contents.first else { return }
                    registration.cancel()
                    calls.put(poller.isCurrent)
                }
                box.put(registration)
                #expect(try calls.wait() == [true])
                for _ in 0..<3 { try completeTurn(of: poller) }
                #expect(calls.contents.count == 1)
            }
        }

        /// The race is forced: the descriptor is always readable, so the handler runs back to back while another thread
        /// cancels.
        ///
        /// The handler checks that it does not run after `cancel()` has returned.
        @Test
        func noHandlerRunsAfterCancelHasReturned() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    try withPoller { poller in
                        let pair = try UnixSocket.pair()
                        writeAll(pair.second.rawValue, [1])
                        let violations = Mailbox<Int>()
                        for round in rounds(atMost: 2000) {
                            let state = RaceState()
                            let registration = try poller.register(pair.first.rawValue, interest: .readable) { _ in
                                state.running.store(true, ordering: .sequentiallyConsistent)
                                if state.cancelled.load(ordering: .sequentiallyConsistent) { violations.put(round) }
                                for _ in 0..<(round % 8) { sched_yield() }
                                state.calls.add(1, ordering: .relaxed)
                                state.running.store(false, ordering: .sequentiallyConsistent)
                            }
                            while state.calls.load(ordering: .relaxed) == 0 { sched_yield() }
                            registration.cancel()
                            state.cancelled.store(true, ordering: .sequentiallyConsistent)
                            if state.running.load(ordering: .sequentiallyConsistent) { violations.put(round) }
                        }
                        try completeTurn(of: poller)
                        #expect(violations.contents.isEmpty)
                    }
                }
            }
        }

        @Test
        func aReusedNumberNeverReachesTheFormerOwnersHandler() throws {
            try withPoller { poller in
                let misdirected = Mailbox<Int>()
                for round in 0..<500 {
                    let former = try UnixSocket.pair()
                    writeAll(former.second.rawValue, [1])
                    let first = try poller.register(former.first.rawValue, interest: .readable) { _ in }
                    first.cancel()
                    former.first.close()
                    former.second.close()
                    let next = try UnixSocket.pair()
                    let second = try poller.register(next.first.rawValue, interest: .readable) { _ in
                        misdirected.put(round)
                    }
                    second.cancel()
                }
                try completeTurn(of: poller)
                #expect(misdirected.contents.isEmpty)
            }
        }
    }

    @Suite("A poller keeps deadlines")
    struct PollerTimerTests {
        @Test
        func timersAreCalledInOrderAndNeverEarly() throws {
            try withPoller { poller in
                let called = Mailbox<(index: Int, time: UInt64)>()
                let made = Mailbox<[UInt64]>()
                let wanted = [9, 3, 7, 3, 1, 9, 5].map { [now = MonotonicClock.now()] offset in
                    now + 20_000_000 + offset * 1_000_000
                }
                // Made in one call on the poller's thread, so that no timer is called before all are there.
                poller.perform {
                    let timers = wanted.enumerated().map { index, deadline in
                        poller.schedule(at: deadline) { called.put((index, MonotonicClock.now())) }
                    }
                    made.put(timers.map(\.deadline))
                }
                let order = try called.wait(for: wanted.count)
                // If the thread had to wait for a processor, some timers were already due when they were made.
                let deadlines = try made.wait()[0]
                #expect(zip(deadlines, wanted).allSatisfy { $0 >= $1 })
                #expect(order.map(\.index) == wanted.indices.sorted { (deadlines[$0], $0) < (deadlines[$1], $1) })
                #expect(order.allSatisfy { $0.time >= deadlines[$0.index] })
            }
        }

        @Test
        func anEarlierDeadlineWakesASleepingPoller() throws {
            try withPoller { poller in
                let called = Mailbox<Int>()
                let late = poller.schedule(after: 3_600_000_000_000) { called.put(1) }
                try completeTurn(of: poller)
                poller.schedule(after: 1_000_000) { called.put(0) }
                #expect(try called.wait() == [0])
                late.cancel()
            }
        }

        @Test
        func aDeadlineBeyondTimeIsAcceptedAndOneInThePastIsNow() throws {
            try withPoller { poller in
                let called = Mailbox<Int>()
                poller.schedule(after: .max) { called.put(0) }.cancel()
                let before = MonotonicClock.now()
                let timer = poller.schedule(at: 0) { called.put(1) }
                #expect(timer.deadline >= before)
                let calls = try called.wait()
                #expect(calls == [1])
            }
        }

        @Test
        func aTimerCanBeCancelledWhenThePollerHasStopped() throws {
            let poller = try Poller(name: "stopped")
            let called = Mailbox<Int>()
            let timers = (0..<3).map { number in
                poller.schedule(after: 3_600_000_000_000) { called.put(number) }
            }
            poller.stop()
            for timer in timers { timer.cancel() }
            timers[0].cancelWithoutWaiting()
            #expect(called.contents.isEmpty)
        }

        @Test
        func aCancelledTimerIsNotCalledAndLetsGoOfWhatItHeld() throws {
            try withPoller { poller in
                let called = Mailbox<Int>()
                var held: Tracked? = Tracked()
                weak let end = held
                let timer = poller.schedule(after: 3_600_000_000_000) { [held] in
                    called.put(0)
                    withExtendedLifetime(held) {}
                }
                held = nil
                timer.cancel()
                #expect(end == nil)
                poller.schedule(after: 1_000_000) { called.put(1) }
                try called.wait()
                #expect(called.contents == [1])
            }
        }

        @Test
        func noTimerRunsAfterCancelHasReturned() throws {
            try withPoller { poller in
                let violations = Mailbox<Int>()
                for round in rounds(atMost: 2000) {
                    let state = RaceState()
                    let timer = poller.schedule(after: UInt64(round % 50) * 1000) {
                        state.running.store(true, ordering: .sequentiallyConsistent)
                        if state.cancelled.load(ordering: .sequentiallyConsistent) { violations.put(round) }
                        sched_yield()
                        state.running.store(false, ordering: .sequentiallyConsistent)
                    }
                    for _ in 0..<(round % 20) { sched_yield() }
                    timer.cancel()
                    state.cancelled.store(true, ordering: .sequentiallyConsistent)
                    if state.running.load(ordering: .sequentiallyConsistent) { violations.put(round) }
                }
                try completeTurn(of: poller)
                #expect(violations.contents.isEmpty)
            }
        }

        @Test
        func theHeapAgreesWithASortedListUnderRandomInsertionAndRemoval() throws {
            var generator = SeededGenerator.announced()
            let poller = try Poller(name: "unused")
            defer { poller.stop() }
            var heap = Poller.TimerHeap()
            var model: [Poller.Timer] = []
            for step in 0..<5000 {
                if model.isEmpty || Int.random(in: 0..<5, using: &generator) < 3 {
                    let timer = Poller.Timer(poller, UInt64.random(in: 0..<50, using: &generator)) {}
                    heap.insert(timer)
                    // After the timers with the same deadline.
                    model.insert(timer, at: model.firstIndex { $0.deadline > timer.deadline } ?? model.count)
                } else {
                    let index = Bool.random(using: &generator) ? 0 : Int.random(in: 0..<model.count, using: &generator)
                    let timer = model.remove(at: index)
                    heap.remove(timer)
                    heap.remove(timer)
                }
                try #require(heap.first === model.first, "seed \(generator.seed), step \(step)")
            }
        }
    }

    @Suite("A poller does work and ends")
    struct PollerWorkTests {
        @Test
        func workFromManyThreadsIsDoneInEachOnesOrder() throws {
            try withPoller { poller in
                let done = Mailbox<(thread: Int, number: Int, isCurrent: Bool)>()
                let threads = try (0..<4).map { thread in
                    try PlatformThread.startJoinable(name: "worker") {
                        for number in 0..<250 {
                            poller.perform { done.put((thread, number, poller.isCurrent)) }
                        }
                    }
                }
                for thread in threads { thread.join() }
                let all = try done.wait(for: 1000)
                #expect(!poller.isCurrent && all.allSatisfy { $0.isCurrent })
                for thread in 0..<4 {
                    #expect(all.filter { $0.thread == thread }.map(\.number) == Array(0..<250))
                }
            }
        }

        @Test
        func workGivenByWorkIsDoneInALaterTurn() throws {
            try withPoller { poller in
                let done = Mailbox<Int>()
                poller.perform {
                    poller.perform { done.put(2) }
                    done.put(1)
                }
                try done.wait(for: 2)
                #expect(done.contents == [1, 2])
            }
        }

        @Test
        func stoppingDoesAcceptedWorkDropsTheRestAndLetsGoOfEverything() async {
            await #expect(processExitsWith: .success) {
                try leavingNothingBehind {
                    let poller = try Poller(name: "test poller")
                    let pair = try UnixSocket.pair()
                    let done = Mailbox<Int>()
                    var held: Tracked? = Tracked()
                    weak let end = held
                    let registration = try poller.register(pair.first.rawValue, interest: .readable) { [held] _ in
                        withExtendedLifetime(held) {}
                    }
                    poller.schedule(after: 3_600_000_000_000) { [held] in
                        done.put(0)
                        withExtendedLifetime(held) {}
                    }
                    held = nil
                    poller.perform { done.put(1) }
                    poller.stop()
                    poller.stop()
                    #expect(done.contents == [1])
                    #expect(end == nil)
                    #expect(!poller.perform { done.put(2) })
                    poller.schedule(after: 0) { done.put(3) }
                    let error = #expect(throws: SystemError.self) {
                        _ = try poller.register(pair.first.rawValue, interest: .readable) { _ in }
                    }
                    #expect(error?.code == ECANCELED)
                    registration.cancel()
                    #expect(done.contents == [1])
                }
            }
        }

        @Test
        func aPollerMayBeStoppedByItsOwnHandler() throws {
            let poller = try Poller(name: "test poller")
            let done = Mailbox<Int>()
            poller.perform {
                poller.stop()
                done.put(1)
            }
            try done.wait()
            poller.stop()
            #expect(!poller.perform {})
        }
    }
}

private final class RaceState: Sendable {
    let running = Atomic<Bool>(false)
    let cancelled = Atomic<Bool>(false)
    let calls = Atomic<Int>(0)
}

/// Returns when the poller has looked at its descriptors once more.
private func completeTurn(of poller: Poller) throws {
    let done = Mailbox<Bool>()
    // The first piece of work may run in a turn that looked before this call; the second runs in a turn after that.
    poller.perform { poller.perform { done.put(true) } }
    try done.wait()
}

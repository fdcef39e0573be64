import BridgePlatform
import BridgeTransport
import Testing

/// The behaviour of every stream, whatever carries it.
@Suite("Streams", .timeLimit(.minutes(5)))
struct ConnectionConformanceTests {
    private let poller: Poller

    init() throws {
        poller = try Poller(name: "test")
    }

    private func withPair(
        _ carrier: Carrier,
        _ body: (any ByteStream, any ByteStream) throws -> Void
    ) throws {
        let (near, far) = try carrier.pair(poller)
        try body(near, far)
        near.close()
        far.close()
        poller.stop()
    }

    /// Returns when the poller has looked at everything more than once, and so has made all calls that were due.
    private func takeTurns() {
        for _ in 0..<3 {
            let isDone = Shared(false)
            poller.perform { isDone.change { $0 = true } }
            isDone.wait { $0 }
        }
    }

    @Test("what was written is read, in both directions and from several pieces", arguments: Carrier.allCases)
    func transfer(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            let pieces: [[UInt8]] = [[1, 2], [3], [4, 5, 6]]
            let outcome = pieces[0].withUnsafeBytes { first in
                pieces[1].withUnsafeBytes { second in
                    pieces[2].withUnsafeBytes { third in near.write([first, second, third]) }
                }
            }
            #expect(outcome == .transferred(6))
            #expect(far.read().bytes == [1, 2, 3, 4, 5, 6])
            #expect(far.write([9]) == .transferred(1))
            #expect(near.read().bytes == [9])
        }
    }

    @Test("a small buffer takes what fits, and the rest comes with the next read", arguments: Carrier.allCases)
    func smallReads(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            _ = near.write([1, 2, 3])
            #expect(far.read(upTo: 2).bytes == [1, 2])
            #expect(far.read(upTo: 2).bytes == [3])
        }
    }

    @Test("a reader waits for bytes", arguments: Carrier.allCases)
    func blockedRead(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            let read = Shared<[UInt8]>([])
            let thread = try PlatformThread.startJoinable(name: "reader") {
                let bytes = far.read().bytes
                read.change { $0 = bytes }
            }
            #expect(near.write([5]) == .transferred(1))
            thread.join()
            #expect(read.value == [5])
        }
    }

    @Test(
        "a peer that does not read fills the stream: short writes, then none, and not a byte lost",
        arguments: Carrier.allCases
    )
    func partialWrites(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            let total = near.fill()
            #expect(total > 50_000)
            #expect(near.write([1]) == .wouldBlock)
            near.finishWriting()
            #expect(far.readToEnd() == [UInt8](repeating: 7, count: total))
        }
    }

    @Test("a writer is called once when the peer has read, on another thread", arguments: Carrier.allCases)
    func whenWritable(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            let total = near.fill()
            let calls = Shared<[Bool]>([])
            let here = ThreadMark()
            near.whenWritable { calls.change { $0.append(ThreadMark() == here) } }
            takeTurns()
            #expect(calls.value.isEmpty)
            var left = total
            while left > 0 { left -= far.read().bytes.count }
            #expect(calls.wait { !$0.isEmpty })
            #expect(near.fill() > 0)
            takeTurns()
            #expect(calls.value == [false])
        }
    }

    @Test("a writer can wait again from within the call, many times over", arguments: Carrier.allCases)
    func waitingAgain(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            let rounds = 30
            let calls = Shared(0)
            @Sendable func goOn() {
                _ = near.fill()
                calls.change { $0 += 1 }
                if calls.value < rounds { near.whenWritable(goOn) } else { near.finishWriting() }
            }
            goOn()
            #expect(!far.readToEnd().isEmpty)
            #expect(calls.value == rounds)
        }
    }

    @Test(
        "a writer that waits is called when the peer closes, and then told that it is gone",
        arguments: Carrier.allCases
    )
    func writerOfClosedStream(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            _ = near.fill()
            let calls = Shared(0)
            near.whenWritable { calls.change { $0 += 1 } }
            far.close()
            #expect(calls.wait { $0 == 1 })
            #expect(near.write([1]) == .endOfStream)
        }
    }

    @Test("a writer that waits is called when its own side closes", arguments: Carrier.allCases)
    func writerOfOwnClosedStream(carrier: Carrier) throws {
        try withPair(carrier) { near, _ in
            _ = near.fill()
            let calls = Shared(0)
            near.whenWritable { calls.change { $0 += 1 } }
            near.close()
            #expect(calls.wait { $0 == 1 })
            #expect(near.write([1]) == .endOfStream)
        }
    }

    @Test("a stopped poller calls no writer, and the waiting thread does not either", arguments: Carrier.allCases)
    func writerOfStoppedPoller(carrier: Carrier) throws {
        let (near, far) = try carrier.pair(poller)
        _ = near.fill()
        poller.stop()
        let calls = Shared(0)
        near.whenWritable { calls.change { $0 += 1 } }
        near.close()
        far.close()
        #expect(calls.value == 0)
        #expect(near.write([1]) == .endOfStream)
    }

    @Test(
        "what was written before the end is read before the end; the other direction goes on",
        arguments: Carrier.allCases
    )
    func finishWriting(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            _ = near.write([1, 2, 3])
            near.finishWriting()
            #expect(near.write([4]) == .endOfStream)
            #expect(far.readToEnd() == [1, 2, 3])
            #expect(far.read().outcome == .endOfStream)
            #expect(far.write([8]) == .transferred(1))
            #expect(near.read().bytes == [8])
        }
    }

    @Test("what a peer wrote before it closed is read before the end", arguments: Carrier.allCases)
    func closeAfterWriting(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            _ = near.write([1, 2, 3])
            near.close()
            #expect(far.readToEnd() == [1, 2, 3])
            #expect(far.write([1]) == .endOfStream)
        }
    }

    @Test("closing wakes a blocked read, on either side", arguments: Carrier.allCases, [true, false])
    func closeWakes(carrier: Carrier, ownSide: Bool) throws {
        try withPair(carrier) { near, far in
            let outcome = Shared<IOOutcome?>(nil)
            let started = Shared(false)
            let thread = try PlatformThread.startJoinable(name: "reader") {
                started.change { $0 = true }
                let read = far.read().outcome
                outcome.change { $0 = read }
            }
            started.wait { $0 }
            if ownSide { far.close() } else { near.close() }
            thread.join()
            #expect(outcome.value == .endOfStream)
        }
    }

    @Test("after reading was finished, what had arrived is read and then comes the end", arguments: Carrier.allCases)
    func finishReading(carrier: Carrier) throws {
        try withPair(carrier) { near, far in
            _ = near.write([1, 2, 3])
            far.finishReading()
            #expect(far.readToEnd() == [1, 2, 3])
            #expect(near.write([4]) == .endOfStream)
            #expect(far.write([5]) == .transferred(1))
            #expect(near.read().bytes == [5])
        }
    }

    @Test("finishing reading wakes a blocked read, though the peer lives", arguments: Carrier.allCases)
    func finishReadingWakes(carrier: Carrier) throws {
        try withPair(carrier) { _, far in
            let started = Shared(false)
            let thread = try PlatformThread.startJoinable(name: "reader") {
                started.change { $0 = true }
                _ = far.readToEnd()
            }
            started.wait { $0 }
            far.finishReading()
            thread.join()
        }
    }
}

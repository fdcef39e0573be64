import BridgePlatform
import BridgeProtocol
import BridgeTransport
import Testing

/// How long a thread goes on writing what other threads enqueue meanwhile.
@Suite("A thread's turn of writing", .timeLimit(.minutes(5)))
struct WritingTurnTests {
    @Test("ends though others enqueue during each write: the poller writes the rest", arguments: Carrier.allCases)
    func floodedByOthers(carrier: Carrier) throws {
        let flood = try Flood(carrier)
        flood.put(1)
        flood.duringWrites { write in if write < 200 { flood.put(write + 1) } }
        #expect(flood.flush() == WriterState.writesInTurn)
        #expect(flood.pair.hostDelegate.events.wait { $0.count == 200 })
        #expect(flood.pair.hostDelegate.events.value.map(\.number) == (1...200).map { UInt64($0) })
        flood.end()
    }

    @Test("does not end if the poller is stopped, because then no other thread writes", arguments: Carrier.allCases)
    func withoutPoller(carrier: Carrier) throws {
        let flood = try Flood(carrier)
        flood.put(1)
        flood.duringWrites { write in if write < 200 { flood.put(write + 1) } }
        flood.pair.poller.stop()
        _ = flood.flush()
        #expect(flood.pair.hostDelegate.events.wait { $0.count == 200 })
        #expect(flood.pair.hostDelegate.events.value.map(\.number) == (1...200).map { UInt64($0) })
        flood.end()
    }

    @Test(
        "may end with the goodbye composed: the stream ends only when the goodbye is written",
        arguments: Carrier.allCases
    )
    func goodbyeAtTheEnd(carrier: Carrier) throws {
        let flood = try Flood(carrier)
        flood.put(1)
        flood.duringWrites { write in
            if write < WriterState.writesInTurn { flood.put(write + 1) }
            if write == WriterState.writesInTurn { flood.pair.worker.finish(reason: .shutdown, text: "done") }
        }
        #expect(flood.flush() == WriterState.writesInTurn)
        #expect(flood.pair.hostDelegate.end.wait { $0 != nil })
        guard case .orderly(let goodbye)? = flood.pair.hostDelegate.end.value else {
            Issue.record("the end was \(String(describing: flood.pair.hostDelegate.end.value))")
            return
        }
        #expect(goodbye.lastWritten == UInt64(WriterState.writesInTurn))
        #expect(flood.pair.hostDelegate.events.value.count == WriterState.writesInTurn)
        flood.end()
    }

    @Test(
        "does not end before a goodbye behind which the link is closed: the poller would come too late",
        arguments: Carrier.allCases
    )
    func goodbyeBeforeTheClose(carrier: Carrier) throws {
        let isSlow = Shared(false)
        let pair = try LinkPair(carrier, wrapWorker: { stream, _ in SlowStream(stream, isSlow: isSlow) })
        // While it is held, the poller writes nothing.
        let (isHeld, isReleased) = (Shared(false), Shared(false))
        pair.poller.perform {
            isHeld.change { $0 = true }
            isReleased.wait { $0 }
        }
        #expect(isHeld.wait { $0 })
        isSlow.change { $0 = true }
        let text = String(repeating: "x", count: 2 * WriterState.writesInTurn)
        pair.worker.finish(reason: .shutdown, text: text, isClosedNext: true)
        pair.worker.close()
        isReleased.change { $0 = true }
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        if case .orderly(let goodbye)? = pair.hostDelegate.end.value {
            #expect(goodbye.text == text)
        } else {
            Issue.record("the end was \(String(describing: pair.hostDelegate.end.value))")
        }
        pair.shutDown()
    }
}

/// Takes only one byte at a time while it is slow.
private final class SlowStream: PassingStream, @unchecked Sendable {
    // Sendable: what it adds is guarded by its own lock.
    private let isSlow: Shared<Bool>

    init(_ inner: any ByteStream, isSlow: Shared<Bool>) {
        self.isSlow = isSlow
        super.init(inner)
    }

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        guard isSlow.value, let piece = pieces.first(where: { !$0.isEmpty }) else { return super.write(pieces) }
        return super.write([UnsafeRawBufferPointer(rebasing: piece.prefix(1))])
    }
}

/// A worker's link on which something happens during each write, as if other threads did it.
private final class Flood: Sendable {
    let pair: LinkPair
    private let stream: FloodedStream

    init(_ carrier: Carrier) throws {
        let flooded = Shared<FloodedStream?>(nil)
        pair = try LinkPair(
            carrier,
            wrapWorker: { stream, _ in
                let made = FloodedStream(stream)
                flooded.change { $0 = made }
                return made
            }
        )
        stream = try #require(flooded.value)
    }

    /// Calls `body` during each write from now on, with the number of that write.
    func duringWrites(_ body: @escaping @Sendable (Int) -> Void) {
        stream.interference.change { $0 = body }
    }

    func put(_ number: Int) { pair.worker.put(number, from: LinkPair.workerSource) }

    /// Writes as a thread that publishes to an idle link, and returns how many writes this thread has made.
    func flush() -> Int {
        // At a time long after the last write, the link is idle.
        pair.worker.flush(at: WallClock.now() + 1_000_000_000)
        return stream.writes.value.filter { $0 == ThreadMark() }.count
    }

    func end() {
        stream.interference.change { $0 = nil }
        pair.shutDown()
    }
}

/// Lets something happen during each write, and notes the thread that writes.
private final class FloodedStream: PassingStream, @unchecked Sendable {
    // Sendable: what it adds is guarded by its own locks.
    let interference = Shared<(@Sendable (Int) -> Void)?>(nil)
    /// The threads of the writes since something interferes.
    let writes = Shared<[ThreadMark]>([])

    override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
        if let interfere = interference.value {
            let mark = ThreadMark()
            writes.change { $0.append(mark) }
            interfere(writes.value.count)
        }
        return super.write(pieces)
    }
}

import BridgeProtocol
import TestSupport
import Testing

@Suite("Who writes, and when")
struct WriterStateTests {
    private static let now: UInt64 = 1_000_000

    /// The states of a writer; inputs reach all of them.
    private struct State: Hashable, CustomStringConvertible {
        enum Activity: CaseIterable {
            case idle
            case writing
            case stalled
        }

        var activity: Activity
        var isGathering = false
        /// Whether a write has ended just before now.
        var isBusy = false

        static let all = Activity.allCases.flatMap { activity in
            [false, true].flatMap { isGathering in
                [false, true].map { State(activity: activity, isGathering: isGathering, isBusy: $0) }
            }
        }

        var writer: WriterState {
            var writer = WriterState()
            _ = writer.begin()
            writer.writeEnded(at: WriterStateTests.now - (isBusy ? 1_999 : 2_000), isStalled: false)
            if isGathering { _ = writer.enqueued(at: WriterStateTests.now, isGathered: true, mayLeave: true) }
            switch activity {
            case .idle: break
            case .writing: _ = writer.begin()
            case .stalled: writer.streamCame(peerSpeaksFirst: true)
            }
            return writer
        }

        func with(_ change: (inout State) -> Void) -> State {
            var copy = self
            change(&copy)
            return copy
        }

        var description: String {
            "\(activity)\(isGathering ? ", gathering" : "")\(isBusy ? ", just after a write" : "")"
        }
    }

    @Test(
        "each state with what is enqueued: written now on an idle link, gathered on a busy one, else left to others"
    )
    func enqueued() {
        for state in State.all {
            for isGathered in [false, true] {
                for mayLeave in [false, true] {
                    var writer = state.writer
                    var isAsked = false
                    func asked() -> Bool {
                        isAsked = true
                        return mayLeave
                    }
                    let flush = writer.enqueued(at: Self.now, isGathered: isGathered, mayLeave: asked())
                    var expected = WriterState.Flush.byOthers
                    if state.activity == .idle, !state.isGathering, mayLeave {
                        expected = isGathered || state.isBusy ? .soon : .now
                    }
                    #expect(flush == expected, "\(state)")
                    // The look at the outbox is left out where other threads write anyway.
                    #expect(isAsked == (state.activity == .idle && !state.isGathering), "\(state)")
                    #expect(writer == state.with { if expected == .soon { $0.isGathering = true } }.writer, "\(state)")
                    #expect(writer.isBusy(at: Self.now) == state.isBusy, "\(state)")
                }
            }
        }
    }

    @Test("each state with what threads and the stream do")
    func everyInput() {
        #expect(Set(State.all.map(\.writer)).count == State.all.count)
        for state in State.all {
            var begun = state.writer
            #expect(begun.begin() == (state.activity == .idle), "\(state)")
            #expect(begun == state.with { if $0.activity == .idle { $0.activity = .writing } }.writer, "\(state)")
            #expect(state.writer.isResting == (state.activity != .writing), "\(state)")

            var more = state.writer
            more.streamTakesMore()
            let unstalled = state.with { if $0.activity == .stalled { $0.activity = .idle } }.writer
            #expect(more == unstalled, "\(state)")
            var came = state.writer
            came.streamCame(peerSpeaksFirst: false)
            #expect(came == unstalled, "\(state)")
            came.streamCame(peerSpeaksFirst: true)
            #expect(came == state.with { $0.activity = .stalled }.writer, "\(state)")

            var gathers = state.writer
            gathers.gatheredBegins()
            #expect(gathers == state.with { $0.isGathering = false }.writer, "\(state)")

            guard state.activity == .writing else { continue }
            for isStalled in [false, true] {
                var ended = state.writer
                _ = ended.mayWriteOn()
                ended.writeEnded(at: Self.now - 1_999, isStalled: isStalled)
                let expected = state.with {
                    $0.activity = isStalled ? .stalled : .idle
                    $0.isBusy = true
                }
                #expect(ended == expected.writer, "\(state)")
            }
        }
    }

    @Test("after its last write a thread hands over to the one that writes what gathers, and wakes it if need be")
    func handedOver() {
        for state in State.all where state.activity == .writing {
            var writer = state.writer
            for write in 0...WriterState.writesInTurn {
                #expect(writer.mayWriteOn() == (write < WriterState.writesInTurn), "\(state)")
            }
            #expect(writer.handedOver(at: Self.now - 1_999) == !state.isGathering, "\(state)")
            #expect(writer == State(activity: .idle, isGathering: true, isBusy: true).writer, "\(state)")
            // What comes now is left to that thread, and the next thread that writes has all its writes.
            #expect(writer.enqueued(at: Self.now, isGathered: false, mayLeave: true) == .byOthers, "\(state)")
            writer.gatheredBegins()
            let goesOn = writer.begin() && writer.mayWriteOn()
            #expect(goesOn, "\(state)")
        }
    }

    @Test(
        "each state after gathered events have left: in a flood there is another look, unless others do or none can leave"
    )
    func gatheredLeft() {
        for state in State.all {
            for isOver in [false, true] {
                var writer = state.writer
                let next = writer.gatheredLeft(after: 0, brought: 16, isOver: isOver)
                let isFree = state.activity != .stalled && !state.isGathering && !isOver
                #expect(next == (isFree ? 50_000 : nil), "\(state)")
                // This look alone finds no flood, but right after another it does: the first look is noted either way.
                writer.gatheredBegins()
                let again = writer.gatheredLeft(after: 0, brought: 1, isOver: isOver)
                #expect(again == (state.activity != .stalled && !isOver ? 400_000 : nil), "\(state)")
            }
        }
        var first = WriterState()
        _ = first.begin()
        first.writeEnded(at: Self.now, isStalled: false)
        #expect(first.gatheredLeft(after: 0, brought: 1, isOver: false) == nil)
        _ = first.begin()
        first.writeEnded(at: Self.now + 100_000, isStalled: false)
        #expect(first.gatheredLeft(after: 0, brought: 1, isOver: false) == nil)
        _ = first.begin()
        first.writeEnded(at: Self.now + 199_999, isStalled: false)
        #expect(first.gatheredLeft(after: 0, brought: 1, isOver: false) == 400_000)
    }

    @Test("a clock that jumps back makes no line busy")
    func jump() {
        var writer = WriterState()
        _ = writer.begin()
        writer.writeEnded(at: Self.now, isStalled: false)
        #expect(!writer.isBusy(at: Self.now - 1))
        #expect(writer.enqueued(at: Self.now - 1, isGathered: false, mayLeave: true) == .now)
    }

    @Test("a random life: one thread writes at a time, and nothing is forgotten")
    func randomLives() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(300) {
            var life = Life()
            for _ in 0..<random.below(300) {
                life.step(&random)
                #expect(life.isLookedAfter)
            }
            life.end()
        }
    }

    /// A link with threads that want to write, a poller and a stream, each of which goes on at any time.
    private struct Life {
        private var writer = WriterState()
        private var now: UInt64 = 1_000
        private var waiting: UInt64 = 0
        private var leftBefore: UInt64 = 0
        private var left: UInt64 = 0
        /// Threads that were told to write.
        private var tellers = 0
        /// For each coming look of the poller, how long it has let events gather.
        private var looks: [UInt64] = []
        private var isWriting = false
        /// The look that told the writing thread to write; nil if no look did.
        private var look: UInt64?
        private var isStalled = false

        /// Whether a thread writes or will, if anything waits.
        var isLookedAfter: Bool { waiting == 0 || isWriting || isStalled || tellers > 0 || !looks.isEmpty }

        mutating func step(_ random: inout SeededGenerator) {
            now += UInt64(random.below(3_000))
            switch random.below(7) {
            case 0, 1: enqueue(isGathered: random.below(4) == 0)
            case 2 where tellers > 0:
                tellers -= 1
                pump(look: nil)
            case 3 where !looks.isEmpty:
                writer.gatheredBegins()
                pump(look: looks.removeFirst())
            case 4 where isWriting: finish(isStalled: random.below(4) == 0)
            case 5 where isStalled: unstall()
            case 6 where isWriting && waiting > 0: handOver()
            default: break
            }
        }

        private mutating func enqueue(isGathered: Bool) {
            waiting += 1
            switch writer.enqueued(at: now, isGathered: isGathered, mayLeave: true) {
            case .now: tellers += 1
            case .soon: looks.append(0)
            case .byOthers: break
            }
        }

        private mutating func pump(look gathered: UInt64?) {
            leftBefore = left
            if writer.begin() {
                #expect(!isWriting && !isStalled)
                (isWriting, look) = (true, gathered)
            } else if let gathered {
                looked(after: gathered)
            }
        }

        /// The thread that writes has found nothing more to write, or a stream that takes no more.
        private mutating func finish(isStalled: Bool) {
            if !isStalled { (left, waiting) = (left + waiting, 0) }
            writer.writeEnded(at: now, isStalled: isStalled)
            (isWriting, self.isStalled) = (false, isStalled)
            if let look { looked(after: look) }
            look = nil
        }

        /// The thread that writes has written enough, and something is left.
        private mutating func handOver() {
            while writer.mayWriteOn() {}
            if writer.handedOver(at: now) { looks.append(0) }
            isWriting = false
            if let look { looked(after: look) }
            look = nil
        }

        private mutating func looked(after gathered: UInt64) {
            let next = writer.gatheredLeft(after: gathered, brought: left - leftBefore, isOver: false)
            if let next { looks.append(next) }
        }

        private mutating func unstall() {
            isStalled = false
            writer.streamTakesMore()
            pump(look: nil)
        }

        /// All threads go on until none has anything to do.
        mutating func end() {
            while isWriting || isStalled || tellers > 0 || !looks.isEmpty {
                now += 1_000_000
                if isWriting { finish(isStalled: false) }
                if isStalled { unstall() }
                if tellers > 0 {
                    tellers -= 1
                    pump(look: nil)
                }
                if !looks.isEmpty {
                    writer.gatheredBegins()
                    pump(look: looks.removeFirst())
                }
            }
            #expect(waiting == 0)
        }
    }
}

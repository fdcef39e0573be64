import BridgeProtocol
import TestSupport
import Testing

@Suite("Those who wait for a link")
struct LinkWaitersTests {
    /// The names of the woken waiters, in order.
    private let names = Collected<String>()

    private func waker(_ name: String) -> LinkWaiters.Wake { { [names] in names.add(name) } }

    /// Wakes the waiters that were taken out, and returns their names.
    private func woken(by wakes: [LinkWaiters.Wake]) -> [String] {
        let before = names.count
        for wake in wakes { wake() }
        return Array(names.all.dropFirst(before))
    }

    private func standing(
        hasEnded: Bool = false,
        isCrowded: Bool = true,
        isBackedUp: Bool = false,
        isQuiet: Bool = false,
        keptBytes: Int = 10_000,
        keptEvents: Int = 10,
        outboxBytes: Int = 10_000
    ) -> LinkWaiters.Standing {
        LinkWaiters.Standing(
            hasEnded: hasEnded,
            isCrowded: isCrowded,
            isBackedUp: isBackedUp,
            isQuiet: isQuiet,
            keptBytes: keptBytes,
            keptEvents: keptEvents,
            outboxBytes: outboxBytes
        )
    }

    /// Some waiters of each of these kinds.
    private func waiters(_ kinds: Set<String> = ["room", "crowd", "backlog", "quiet", "demand"]) -> LinkWaiters {
        var waiters = LinkWaiters()
        if kinds.contains("demand") {
            waiters.waitForDemand(waker("early"))
            waiters.waitForDemand(waker("demand"))
        }
        if kinds.contains("quiet") { waiters.waitForQuiet(waker("quiet")) }
        if kinds.contains("backlog") { waiters.waitWhileBackedUp(waker("backlog")) }
        if kinds.contains("crowd") { waiters.waitWhileCrowded(waker("crowd")) }
        if kinds.contains("room") { waiters.waitForRoom(1, waker("room")) }
        return waiters
    }

    @Test("each standing with those who wait: who is woken, in which order, and who waits on")
    func everyStanding() {
        let kinds = ["crowd", "backlog", "room", "quiet"]
        for choice in 0..<16 {
            let waiting = kinds.enumerated().filter { choice & 1 << $0.offset != 0 }.map(\.element)
            for standingChoice in 0..<32 {
                let flags = (0..<5).map { standingChoice & 1 << $0 != 0 }
                let (hasEnded, isCrowded, isBackedUp, isQuiet, isFull) = (
                    flags[0], flags[1], flags[2], flags[3], flags[4]
                )
                let standing = standing(
                    hasEnded: hasEnded,
                    isCrowded: isCrowded,
                    isBackedUp: isBackedUp,
                    isQuiet: isQuiet,
                    keptBytes: isFull ? 10_000 : 9_999
                )
                var waiters = waiters(Set(waiting + ["demand"]))
                #expect(waiters.isEmpty == waiting.isEmpty)
                let isOver = [
                    "crowd": hasEnded || !isCrowded,
                    "backlog": hasEnded || !isBackedUp,
                    // Room does not help where incoming events are held up.
                    "room": hasEnded || !isBackedUp && !isFull,
                    "quiet": hasEnded || isQuiet,
                ]
                let expected = waiting.filter { isOver[$0] == true }
                #expect(woken(by: waiters.takeWoken(standing)) == expected, "\(waiting) \(standing)")
                #expect(waiters.areSendersWaiting == (waiting.contains("room") && isOver["room"] == false))
                #expect(waiters.isQuietAwaited == (waiting.contains("quiet") && isOver["quiet"] == false))
                #expect(waiters.isEmpty == (expected == waiting))
                // None of these inputs brings demand.
                #expect(waiters.isDemandAwaited == true)
                let rest = waiting.filter { isOver[$0] == false }
                let order = ["room", "crowd", "backlog", "quiet"].filter(rest.contains) + ["demand"]
                #expect(woken(by: waiters.takeAll()) == order)
                #expect(waiters.isEmpty && !waiters.isDemandAwaited)
                #expect(waiters.takeAll().isEmpty)
            }
        }
    }

    @Test("as many get their turn as fill the outbox with events like those that lie there; all if none do")
    func places() {
        // kept bytes, kept events, limit: how many of nine are woken.
        let rows: [(bytes: Int, events: Int, limit: Int, woken: Int)] = [
            (0, 0, 10_000, 9), (0, 0, 0, 9), (10_000, 10, 10_000, 0), (10_001, 10, 10_000, 0), (9_999, 10, 10_000, 1),
            (9_000, 9, 10_000, 2), (1_000, 1, 5_999, 5), (256, 1, 512, 2),
            // Each waiter counts with a charge, however small the kept events are.
            (2_560, 100, 2_560 + 512, 3), (1, 1, 1 << 40, 9),
        ]
        for row in rows {
            for hasEnded in [false, true] {
                var waiters = LinkWaiters()
                for id in 1...9 as ClosedRange<UInt64> { waiters.waitForRoom(id, waker("\(id)")) }
                let standing = standing(
                    hasEnded: hasEnded,
                    keptBytes: row.bytes,
                    keptEvents: row.events,
                    outboxBytes: row.limit
                )
                let count = hasEnded ? 9 : row.woken
                #expect(woken(by: waiters.takeWoken(standing)) == (1...9).prefix(count).map(String.init))
                #expect(waiters.areSendersWaiting == (count < 9))
            }
        }
    }

    @Test("one that waits no longer loses its turn, and is woken once")
    func cancelled() {
        var waiters = LinkWaiters()
        for id in 1...3 as ClosedRange<UInt64> { waiters.waitForRoom(id, waker("\(id)")) }
        #expect(woken(by: waiters.cancelWait(for: 2).map { [$0] } ?? []) == ["2"])
        #expect(waiters.cancelWait(for: 2) == nil)
        #expect(waiters.cancelWait(for: 4) == nil)
        #expect(woken(by: waiters.takeAll()) == ["1", "3"])
    }

    @Test("one waits for demand, the last that came; a peer that is there ends it")
    func demand() {
        var waiters = waiters(["demand"])
        #expect(waiters.isEmpty && waiters.isDemandAwaited)
        #expect(woken(by: waiters.takeDemand().map { [$0] } ?? []) == ["demand"])
        #expect(waiters.takeDemand() == nil)
        waiters = self.waiters(["demand", "room"])
        waiters.forgetDemand()
        #expect(waiters.isDemandAwaited == false)
        #expect(woken(by: waiters.takeAll()) == ["room"])
    }

    @Test("a random life: each is woken once, in the order of waiting, and none is left when nothing lies there")
    func randomLives() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(200) {
            var waiters = LinkWaiters()
            // The waiters of each kind, in the order in which they came.
            var expected: [Int: [UInt64]] = [:]
            var next: UInt64 = 0
            for _ in 0..<random.below(100) {
                next += 1
                let wake = waker("\(next)")
                let kind = random.below(6)
                switch kind {
                case 0: waiters.waitForRoom(next, wake)
                case 1: waiters.waitWhileCrowded(wake)
                case 2: waiters.waitWhileBackedUp(wake)
                case 3: waiters.waitForQuiet(wake)
                case 4:
                    let id = UInt64(random.below(Int(next)))
                    let isWaiting = expected[0]?.contains(id) == true
                    let names = woken(by: waiters.cancelWait(for: id).map { [$0] } ?? [])
                    #expect(names == (isWaiting ? ["\(id)"] : []))
                    expected[0]?.removeAll { $0 == id }
                    continue
                default:
                    let standing = standing(
                        isCrowded: random.below(2) == 0,
                        isBackedUp: random.below(2) == 0,
                        isQuiet: random.below(2) == 0,
                        keptBytes: 4_000 + random.below(8_000),
                        keptEvents: 1 + random.below(20)
                    )
                    for name in woken(by: waiters.takeWoken(standing)) {
                        let kind = expected.first { $0.value.first.map(String.init) == name }?.key
                        #expect(kind != nil, "\(name) was woken out of turn")
                        if let kind { expected[kind]?.removeFirst() }
                    }
                    continue
                }
                expected[kind, default: []].append(next)
            }
            let rest = Set(expected.values.joined().map { "\($0)" })
            let empty = standing(isCrowded: false, isQuiet: true, keptBytes: 0, keptEvents: 0)
            #expect(Set(woken(by: waiters.takeWoken(empty))) == rest)
            #expect(waiters.isEmpty == true)
        }
    }
}

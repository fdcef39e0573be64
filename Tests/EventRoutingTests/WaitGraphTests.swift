import TestSupport
import Testing

@testable import EventRouting

@Suite("Which waits of peers for each other are given up")
struct WaitGraphTests {
    private typealias Graph = WaitGraph<String, Int>

    /// A wait that begins; `lines` speaks lines, and the others do not.
    private enum Wait: Sendable {
        case backlog(String, String)
        case crowd(String, String)
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let waits: [Wait]
        /// The waits that go on at once, by their places, as each wait begins.
        let goOn: [[Int]]
    }

    private static let rows = [
        Row(
            testDescription: "a circle of backlogs: the wait that closes it",
            waits: [.backlog("a", "b"), .backlog("b", "c"), .backlog("c", "a"), .backlog("a", "b")],
            goOn: [[], [], [2], []]
        ),
        Row(
            testDescription: "a peer that does not speak lines acknowledges whatever waits: none",
            waits: [.crowd("a", "b"), .backlog("b", "a"), .crowd("b", "a"), .backlog("a", "c")],
            goOn: [[], [], [], []]
        ),
        Row(
            testDescription: "lines that wait for a peer that waits for room at them: their wait, which comes last",
            waits: [.crowd("a", "lines"), .backlog("lines", "a")],
            goOn: [[], [1]]
        ),
        Row(
            testDescription: "the same, and all their waits came first",
            waits: [.backlog("lines", "a"), .backlog("lines", "a"), .backlog("lines", "b"), .crowd("a", "lines")],
            goOn: [[], [], [], [0, 1]]
        ),
        Row(
            testDescription: "a longer circle through room at the lines: the wait of the lines, not the last wait",
            waits: [.backlog("lines", "a"), .crowd("b", "lines"), .backlog("a", "b"), .backlog("lines", "a")],
            goOn: [[], [], [0], [3]]
        ),
        Row(
            testDescription: "room at a peer between that does not speak lines: none, for it acknowledges",
            waits: [.backlog("lines", "a"), .crowd("a", "b"), .backlog("b", "lines")],
            goOn: [[], [], []]
        ),
    ]

    @Test("the one that closes a circle; in a circle through room at lines, those of the lines", arguments: rows)
    private func circles(row: Row) {
        var graph = Graph()
        for (number, wait) in row.waits.enumerated() {
            switch wait {
            case .backlog(let sender, let target):
                let pair = Graph.Pair(sender: sender, target: target)
                let begun = graph.waitForBacklog(pair, speaksLines: sender == "lines", number)
                #expect(begun.goOn == row.goOn[number], "wait \(number)")
            case .crowd(let sender, let target):
                let pair = Graph.Pair(sender: sender, target: target)
                #expect(graph.waitForRoom(pair, speaksLines: sender == "lines") == row.goOn[number], "wait \(number)")
            }
        }
    }

    @Test("a wait that was given up ends no second time; one that begins later is watched by the first call")
    func watches() {
        var graph = Graph()
        let pair = Graph.Pair(sender: "lines", target: "a")
        let back = Graph.Pair(sender: "a", target: "lines")
        #expect(graph.waitForBacklog(pair, speaksLines: true, 1).watches)
        #expect(graph.waitForRoom(back, speaksLines: false) == [1])
        graph.crowdEnded(back)
        let again = graph.waitForBacklog(pair, speaksLines: true, 2)
        #expect(again.goOn.isEmpty && !again.watches)
        #expect(graph.backlogEnded(pair) == [2])
        #expect(graph.waitForBacklog(pair, speaksLines: true, 3).watches)
    }

    @Test("whatever begins and ends, all waits can end, each once, and none is given up that could have ended")
    func randomLives() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(2_000, atLeast: 300) {
            var life = Life(using: &random)
            for _ in 0..<60 { life.step(using: &random) }
            life.end()
        }
    }
}

/// The waits of a few parties as they should be, beside the graph.
private struct Life {
    typealias Graph = WaitGraph<Int, Int>
    private static let parties = 5

    private struct Waiting {
        let pair: Graph.Pair
        let isCrowd: Bool
        let number: Int
    }

    private var graph = Graph()
    private let lines: Set<Int>
    private var waiting: [Waiting] = []
    private var watched: Set<Graph.Pair> = []
    private var begun = 0
    private var wentOn: [Int] = []

    init(using random: inout SeededGenerator) {
        var lines: Set<Int> = []
        for party in 0..<random.below(3) { lines.insert(party) }
        self.lines = lines
    }

    mutating func step(using random: inout SeededGenerator) {
        let (sender, target) = (random.below(Self.parties), random.below(Self.parties))
        if sender == target { return }
        let pair = Graph.Pair(sender: sender, target: target)
        switch random.below(8) {
        case 0..<3: beginBacklog(pair)
        case 3..<6: beginCrowd(pair)
        case 6:
            let pairs = watched.sorted { ($0.sender, $0.target) < ($1.sender, $1.target) }
            if !pairs.isEmpty { endBacklog(pairs[random.below(pairs.count)]) }
        default:
            let crowds = waiting.indices.filter { waiting[$0].isCrowd }
            if !crowds.isEmpty { endCrowd(at: crowds[random.below(crowds.count)]) }
        }
    }

    mutating func end() {
        for pair in watched.sorted(by: { ($0.sender, $0.target) < ($1.sender, $1.target) }) { endBacklog(pair) }
        while let index = waiting.firstIndex(where: \.isCrowd) { endCrowd(at: index) }
        #expect(waiting.isEmpty)
        #expect(wentOn.count == Set(wentOn).count)
    }

    private mutating func beginBacklog(_ pair: Graph.Pair) {
        begun += 1
        let beginning = graph.waitForBacklog(pair, speaksLines: lines.contains(pair.sender), begun)
        waiting.append(Waiting(pair: pair, isCrowd: false, number: begun))
        giveUp(beginning.goOn, closing: begun)
        let waits = waiting.contains { $0.number == begun }
        #expect(beginning.watches == (waits && !watched.contains(pair)))
        if beginning.watches { watched.insert(pair) }
    }

    private mutating func beginCrowd(_ pair: Graph.Pair) {
        begun += 1
        let goOn = graph.waitForRoom(pair, speaksLines: lines.contains(pair.sender))
        waiting.append(Waiting(pair: pair, isCrowd: true, number: begun))
        giveUp(goOn, closing: begun)
    }

    private mutating func endBacklog(_ pair: Graph.Pair) {
        let ended = graph.backlogEnded(pair)
        #expect(ended == waiting.filter { $0.pair == pair && !$0.isCrowd }.map(\.number))
        waiting.removeAll { $0.pair == pair && !$0.isCrowd }
        watched.remove(pair)
        wentOn += ended
    }

    private mutating func endCrowd(at index: Int) {
        graph.crowdEnded(waiting.remove(at: index).pair)
    }

    /// Checks that these waits had to be given up, and that all others can end.
    private mutating func giveUp(_ numbers: [Int], closing last: Int) {
        let stuck = stuck(of: waiting)
        for number in numbers {
            guard let wait = waiting.first(where: { $0.number == number }) else {
                Issue.record("wait \(number) goes on, which does not wait")
                continue
            }
            #expect(!wait.isCrowd && (number == last || lines.contains(wait.pair.sender)))
            #expect(stuck.contains(wait.pair.sender))
        }
        waiting.removeAll { numbers.contains($0.number) }
        wentOn += numbers
        // Lines that wait for nothing but room at each other are not helped, nor what waits for them.
        let helpless = self.stuck(of: waiting.filter { $0.isCrowd && lines.contains($0.pair.target) }, among: lines)
        #expect(self.stuck(of: waiting.filter { !helpless.contains($0.pair.sender) }).isEmpty)
    }

    /// The parties whose waits never end.
    ///
    /// - Parameter parties: the parties whose waits count; nil for all.
    private func stuck(of waiting: [Waiting], among parties: Set<Int>? = nil) -> Set<Int> {
        let counted = waiting.filter { parties?.contains($0.pair.sender) ?? true }
        var stuck = Set(counted.map(\.pair.sender))
        while true {
            let still = stuck.filter { party in
                counted.contains { wait in
                    wait.pair.sender == party && stuck.contains(wait.pair.target)
                        && (!wait.isCrowd || lines.contains(wait.pair.target))
                }
            }
            if still == stuck { return stuck }
            stuck = still
        }
    }
}

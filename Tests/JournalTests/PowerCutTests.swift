import BridgePlatform
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import Journal

@Suite("A journal and a power cut")
struct PowerCutTests {
    private final class Confirmed: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private var highest: UInt64 = 0
        var position: UInt64 { lock.withLock { highest } }
        func note(_ position: UInt64) { lock.withLock { highest = max(highest, position) } }
    }

    /// Each run has nine cuts; `EVENT_BRIDGE_TEST_ROUNDS=93` makes ten thousand of them.
    @Test(
        "J19: nothing that was confirmed is lost, whichever sectors the disk had not written, at any moment",
        .timeLimit(.minutes(10)),
        arguments: 0..<rounds(12, atLeast: 12)
    )
    func powerCuts(run: Int) async throws {
        let scratch = try ScratchJournal()
        let storage = try PowerCutStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .milliseconds(run % 3))
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        let confirmed = Confirmed()
        let text = String(repeating: "x", count: 50 + run % 12 * 100)
        // The event's number is one less than its position: one task publishes.
        let publishing = Task {
            for number in 0..<400 {
                if number % 3 == 0 {
                    try await publisher.deliver(Counted(number: number, text: text), within: .seconds(60))
                    confirmed.note(UInt64(number + 1))
                } else {
                    publisher.publish(Counted(number: number, text: text))
                }
            }
        }
        for cut in 0..<8 {
            try await checkCut(storage, confirmed: confirmed.position, text: text, seed: UInt64(run << 16 + cut))
        }
        try await publishing.value
        #expect(confirmed.position == 400)
        try await checkCut(storage, confirmed: 400, text: text, seed: UInt64(run << 16 + 8))
        await journal.close()
    }

    private func checkCut(_ storage: PowerCutStorage, confirmed: UInt64, text: String, seed: UInt64) async throws {
        let left = try ScratchJournal()
        try storage.leave(in: try left.files, seed: seed)
        try await check(left, confirmed: confirmed, text: text)
    }

    /// Opens the journal that a power cut has left, and checks it.
    private func check(_ left: ScratchJournal, confirmed: UInt64, text: String) async throws {
        let journal = try left.open()
        var (next, firstMissing): (UInt64, UInt64) = (1, .max)
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            switch step {
            case .event(let entry):
                #expect(entry.position >= next)
                #expect(entry.event == Counted(number: Int(entry.position) - 1, text: text))
                next = entry.position + 1
            case .gap(let gap):
                if let positions = gap.positions {
                    firstMissing = min(firstMissing, positions.lowerBound)
                    next = positions.upperBound
                }
            }
        }
        #expect(min(next, firstMissing) > confirmed, "\(confirmed) were confirmed, \(firstMissing) is missing")
        await journal.close()
    }
}

import CBOR
import ChaosLedger
import EventBridge

/// Writes down the events that were given up, and their receivers; then discards the letters, which the bridge keeps.
struct LetterReader: Sendable {
    private struct Content: Decodable {
        let payload: ChaosPayload
    }

    private let bridge: BridgeHost
    private let handled: HandledLedger
    private let watch: WorkerWatch

    init(_ bridge: BridgeHost, _ handled: HandledLedger, _ watch: WorkerWatch) {
        self.bridge = bridge
        self.handled = handled
        self.watch = watch
    }

    /// Starts a task that reads letters until it is cancelled.
    func begin() -> Task<Void, Never> {
        Task.detached {
            while !Task.isCancelled {
                readAll()
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    func readAll() {
        for letter in bridge.deadLetters {
            do {
                let content = try letter.payload.withUnsafeBytes { try CBORDecoder().decode(Content.self, from: $0) }
                guard let receiver = Party(name: letter.worker) else {
                    throw LedgerError("\(letter.worker) takes no part")
                }
                try handled.noteDeadLetter(content.payload, receiver: receiver)
                watch.noteLetter(letter.cause)
            } catch {
                watch.complain("a dead letter with \(letter.event) for \(letter.worker): \(error)")
            }
            bridge.discardDeadLetter(letter.id)
        }
    }
}

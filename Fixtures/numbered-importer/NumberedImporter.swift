import BridgePlatform
import BridgeWorker
import DomainEvents
import EventBridge
import Journal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A number of an endless source 1, 2, 3, ...
struct NumberRead: DomainEvent {
    let number: UInt64
}

/// Imports the numbers of a source by bookmark, until it is killed: `numbered-importer DIRECTORY`.
///
/// The program is a host with a journal in that directory, and starts itself as its only worker. The worker continues
/// after its last bookmark, and kills itself again and again. The host writes out each number that it gets. In the file
/// `sent` of the directory, the worker writes down each number whose `send` has returned: see ``SentNumbers``.
@main
struct NumberedImporter {
    static func main() async throws {
        if CurrentProcess.environment("EVENT_BRIDGE_FD") != nil {
            let directory = CommandLine.arguments[1]
            await BridgeWorker.main { publisher in try await importNumbers(publisher, SentNumbers(in: directory)) }
        }
        try await serve(CommandLine.arguments[1])
    }

    private static func importNumbers(_ publisher: EventPublisher, _ sent: SentNumbers) async throws {
        guard publisher.keepsBookmarks else { CurrentProcess.exit(1) }
        var number = publisher.lastBookmark?.text.flatMap { UInt64($0) } ?? 0
        // All numbers that earlier starts have sent must be recorded before this start, whichever process was killed.
        if number < sent.newest { sent.isLost(sent.newest) }
        // Some starts end before their first number is sent, others after windows full of numbers.
        var left = Int.random(in: 0...3) == 0 ? 0 : Int.random(in: 1...9_000)
        while true {
            if left == 0 { kill(getpid(), SIGKILL) }
            left -= 1
            number += 1
            try await publisher.send(NumberRead(number: number), bookmark: EventBookmark("\(number)"))
            sent.newest = number
        }
    }

    private static func serve(_ directory: String) async throws {
        let journal = try EventJournal(
            at: directory,
            retention: JournalRetention(bytes: 8 << 20),
            segmentBytes: 64 << 10
        )
        let publisher = EventPublisher()
        try journal.record(NumberRead.self, of: publisher)
        let output = publisher.subscribe(to: NumberRead.self) { read in
            try SystemFile.standardOutput.append(withUnsafeBytes(of: read.number.littleEndian) { Array($0) })
        }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                WorkerSpecification(
                    "importer",
                    executable: .beside("numbered-importer"),
                    arguments: [directory],
                    environment: CurrentProcess.sanitizerOptions,
                    publishes: [NumberRead.self],
                    backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1))
                )
            ],
            intensity: RestartIntensity(restarts: 1_000_000, within: .seconds(1))
        )
        try await bridge.start()
        while true { try await Task.sleep(for: .seconds(3_600)) }
        withExtendedLifetime(output) {}
    }
}

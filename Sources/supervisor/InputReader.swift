import BridgePlatform
import DomainEvents
import EventBridge
import JSONText
import SupervisorConfiguration

/// Publishes the events of a file, line by line, no faster than the workers take them.
final class InputReader: Sendable {
    private let file: SystemFile
    private let name: String
    private let bridge: BridgeHost
    private let publisher: EventPublisher
    private let lines: InputLines
    private let diagnostics: Diagnostics
    private let outcome: RunOutcome
    /// Called for a wrong line; returns false to end the reading.
    private let goesOnAfterMistake: @Sendable () -> Bool
    private let turns = ReadingTurns()

    init(
        _ file: SystemFile,
        name: String,
        bridge: BridgeHost,
        publisher: EventPublisher,
        lines: InputLines,
        diagnostics: Diagnostics,
        outcome: RunOutcome,
        goesOnAfterMistake: @escaping @Sendable () -> Bool
    ) {
        self.file = file
        self.name = name
        self.bridge = bridge
        self.publisher = publisher
        self.lines = lines
        self.diagnostics = diagnostics
        self.outcome = outcome
        self.goesOnAfterMistake = goesOnAfterMistake
    }

    /// Starts the reading thread, which may wait for the file and for the workers.
    ///
    /// The thread calls `ended` at the end of the file or after a failed read. If ``stop()`` or a wrong line has ended
    /// the reading before that, the thread does not call `ended`.
    func start(ended: @escaping @Sendable () -> Void) throws(SystemError) {
        try PlatformThread.start(name: "input") { [self] in
            if readAll() { ended() }
        }
    }

    /// Stops publishing, and returns when no event is being published any more.
    ///
    /// The reading thread may still be waiting for the file or for room when this call returns.
    func stop() async { await turns.end() }

    /// - Returns: True if reading came to the file's end or failed; false if ``stop()`` or a wrong line ended it.
    private func readAll() -> Bool {
        var reader = LineReader { [file] () throws(SystemFileError) in try file.read(upTo: 64 << 10) }
        var number = 0
        while true {
            let line: LineReader.Line?
            do throws(SystemFileError) {
                line = try reader.next()
            } catch {
                outcome.inputBecameUnreadable()
                diagnostics.sayAt("\(name):\(number + 1): the input cannot be read: \(error)")
                return true
            }
            guard let line else { return true }
            number += 1
            guard !turns.haveEnded else { return false }
            guard take(line, number: number) else { return false }
        }
    }

    private func take(_ line: LineReader.Line, number: Int) -> Bool {
        do throws(InputMistake) {
            guard case .line(let bytes) = line else {
                throw InputMistake(
                    "found a line of more than \(ByteCountText.text(LineReader.greatestLength)), the limit"
                )
            }
            if bytes.allSatisfy(Self.isBlank) { return true }
            return try publish(try InputEvent(line: bytes), number: number)
        } catch {
            diagnostics.sayAt(error.description(file: name, line: number))
            return goesOnAfterMistake()
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }

    /// - Returns: False if ``stop()`` came before the event could be published.
    private func publish(_ event: InputEvent, number: Int) throws(InputMistake) -> Bool {
        guard !WorkerReporter.reports.contains(EventName(event.name)) else {
            throw InputMistake("\(event.name) is a report of the bridge itself, which nothing else publishes")
        }
        guard bridge.isWanted(event.name) else {
            let question = NearestName.question(for: event.name, among: bridge.namesWantedByWorkers)
            throw InputMistake("no worker wants \(ShownValue.text(event.name))\(question)")
        }
        waitForRoom(for: event)
        guard turns.begin() else { return false }
        defer { turns.finish() }
        let context = publisher.makeContext(causedBy: nil, traceparent: event.traceparent)
        lines.add(context.id, line: number)
        guard case .failure(let error) = bridge.publish(name: event.name, payload: event.payload, context: context)
        else {
            return true
        }
        switch error.code {
        case .eventTooLarge, .notEncodable, .nameHasType, .mayNotImport: throw InputMistake(error.description)
        case .outboxFull, .workerUnavailable, .shuttingDown, .noSubscriber, .timedOut, .insideTransaction, .refused,
            .deadLettered:
            // The line is valid: only the delivery failed.
            outcome.eventsWereNotHandled()
            diagnostics.sayAt("\(name):\(number): \(error.description)")
            return true
        }
    }

    private func waitForRoom(for event: InputEvent) {
        guard !bridge.hasRoom(name: event.name) else { return }
        let room = Flag()
        Task { [bridge] in
            await bridge.waitForRoom(name: event.name, payload: event.payload)
            room.set()
        }
        room.wait()
    }
}

import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Testing

/// Where the drawing program saves; some places are full.
private struct Disk: Sendable {
    let fullPlaces: Set<String>

    func write(_ byteCount: Int, to file: String) throws(DiskFull) {
        if fullPlaces.contains(file) { throw DiskFull(place: file) }
    }
}

private struct DiskFull: Error, CustomStringConvertible {
    let place: String
    var description: String { "no room in \(place)" }
}

/// Announces the result of saving.
private struct Canvas: Sendable {
    let id: CanvasID
    let disk: Disk
    let publisher: EventPublisher

    func save(to file: String) {
        do {
            try disk.write(640, to: file)
            publisher.publish(CanvasSaved(canvasID: id, file: file, byteCount: 640))
        } catch {
            publisher.publish(SavingCanvasFailed(canvasID: id, file: file, reason: "\(error)"))
        }
    }
}

/// Knows all canvases and asks the user where to save when that has failed.
@MainActor
private final class CanvasController {
    private(set) var notices: [String] = []
    private let canvases: [CanvasID: Canvas]
    private var placesOfTheUser: [String]
    private var subscriptions: Set<Subscription> = []

    init(canvases: [Canvas], placesOfTheUser: [String], publisher: EventPublisher) {
        self.canvases = Dictionary(uniqueKeysWithValues: canvases.map { ($0.id, $0) })
        self.placesOfTheUser = placesOfTheUser
        publisher.subscribe(to: SavingCanvasFailed.self, on: .main) { [weak self] event in
            self?.savingFailed(event)
        }.store(in: &subscriptions)
        publisher.subscribe(to: CanvasSaved.self, on: .main) { [weak self] event in
            self?.notices.append("saved \(event.file)")
        }.store(in: &subscriptions)
    }

    private func savingFailed(_ event: SavingCanvasFailed) {
        notices.append(event.reason)
        guard !placesOfTheUser.isEmpty else { return notices.append("not saved") }
        canvases[event.canvasID]?.save(to: placesOfTheUser.removeFirst())
    }
}

@MainActor
@Suite("Scenario: saving a canvas, and saving it elsewhere when that fails", .timeLimit(.minutes(5)))
struct CanvasSavingScenario {
    /// Above 2^53, where a floating-point number would lose it.
    private static let canvasID = CanvasID(1 << 53 + 1)

    private let publisher = EventPublisher()
    private let recorder: EventRecorder
    private let canvas: Canvas

    init() {
        recorder = EventRecorder(publisher)
        canvas = Canvas(id: Self.canvasID, disk: Disk(fullPlaces: ["full", "fuller"]), publisher: publisher)
    }

    private func controller(placesOfTheUser: [String]) -> CanvasController {
        CanvasController(canvases: [canvas], placesOfTheUser: placesOfTheUser, publisher: publisher)
    }

    /// Returns when the main actor has handled everything that was published before.
    private func settle() async throws {
        let subscription = publisher.subscribe(to: CanvasSettled.self, on: .main) { _ in }
        for _ in 0..<4 { try await publisher.deliver(CanvasSettled(), within: .seconds(50)) }
        subscription.cancel()
    }

    private struct CanvasSettled: DomainEvent {}

    @Test func itIsSavedAndTheUserIsTold() async throws {
        let controller = controller(placesOfTheUser: [])
        canvas.save(to: "drawing")
        try await settle()
        #expect(controller.notices == ["saved drawing"])
    }

    @Test func itIsTriedAgainUntilAPlaceTakesIt() async throws {
        let controller = controller(placesOfTheUser: ["fuller", "free", "never asked"])
        canvas.save(to: "full")
        let saved = try await recorder.next(CanvasSaved.self)
        #expect(saved.canvasID == Self.canvasID)
        try await settle()
        #expect(controller.notices == ["no room in full", "no room in fuller", "saved free"])
        #expect(recorder.events(SavingCanvasFailed.self).map(\.file) == ["full", "fuller"])
        #expect(recorder.events(CanvasSaved.self).map(\.file) == ["free"])
    }

    @Test func theUserMayGiveUp() async throws {
        let controller = controller(placesOfTheUser: [])
        canvas.save(to: "full")
        try await settle()
        #expect(controller.notices == ["no room in full", "not saved"])
        #expect(recorder.events(CanvasSaved.self).isEmpty)
    }

    @Test func theRetryIsCausedByTheFailure() async throws {
        let controller = controller(placesOfTheUser: ["free"])
        // The sequence is subscribed from here on.
        var failures = publisher.deliveries(of: SavingCanvasFailed.self).makeAsyncIterator()
        var successes = publisher.deliveries(of: CanvasSaved.self).makeAsyncIterator()
        canvas.save(to: "full")
        let failed = try await failures.next()?.context
        let saved = try await successes.next()?.context
        #expect(failed != nil)
        #expect(saved?.cause == failed?.id)
        withExtendedLifetime(controller) {}
    }

    @Test func aControllerThatIsGoneTriesNothing() async throws {
        weak var gone: CanvasController?
        do {
            let controller = controller(placesOfTheUser: ["free"])
            gone = controller
            withExtendedLifetime(controller) {}
        }
        #expect(gone == nil)
        canvas.save(to: "full")
        try await settle()
        #expect(recorder.events(CanvasSaved.self).isEmpty)
        #expect(recorder.events(HandlerFailed.self).isEmpty)
    }
}

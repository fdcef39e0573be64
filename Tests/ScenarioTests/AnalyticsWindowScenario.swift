import DomainEvents
import Testing

/// What users do in the analytics window, however deep the control is that they touch.
private enum AnalyticsWindowEvent: DomainEvent, Equatable {
    case dateRangeChanged(from: Int, to: Int)
    case applicationUnselected(String)
}

// The views: each level knows the one below, and no level passes anything up.

@MainActor
private final class RangePicker {
    let publisher: EventPublisher

    init(publisher: EventPublisher) { self.publisher = publisher }

    func apply(from: Int, to: Int) {
        publisher.publish(AnalyticsWindowEvent.dateRangeChanged(from: from, to: to))
    }
}

@MainActor
private final class ApplicationCell {
    let name: String
    let publisher: EventPublisher

    init(name: String, publisher: EventPublisher) {
        self.name = name
        self.publisher = publisher
    }

    func close() { publisher.publish(AnalyticsWindowEvent.applicationUnselected(name)) }
}

@MainActor
private struct SidePane {
    let picker: RangePicker
    let cells: [ApplicationCell]
}

@MainActor
private final class AnalyticsWindow {
    let pane: SidePane
    var title = ""

    init(publisher: EventPublisher) {
        pane = SidePane(
            picker: RangePicker(publisher: publisher),
            cells: ["Editor", "Browser"].map { ApplicationCell(name: $0, publisher: publisher) }
        )
    }
}

/// Writes what the window shows.
@MainActor
private final class AnalyticsPresenter {
    private let window: AnalyticsWindow
    private var hidden: [String] = []

    init(window: AnalyticsWindow) { self.window = window }

    func show(from: Int, to: Int) { window.title = "days \(from) to \(to)" }

    func hide(_ application: String) {
        hidden.append(application)
        window.title += ", without \(application)"
    }
}

/// Turns users' actions into instructions for the presenter; it does not know its subscribers.
@MainActor
private final class AnalyticsEventHandler: MainActorEventConsumer {
    private let presenter: AnalyticsPresenter

    init(presenter: AnalyticsPresenter) { self.presenter = presenter }

    func consume(_ event: AnalyticsWindowEvent) {
        switch event {
        case .dateRangeChanged(let from, let to): presenter.show(from: from, to: to)
        case .applicationUnselected(let name): presenter.hide(name)
        }
    }
}

/// Owns the window and its parts, from the opening to the closing of the window.
@MainActor
private final class ShowAnalyticsWindow {
    let window: AnalyticsWindow
    private let publisher: EventPublisher
    private let handler: AnalyticsEventHandler

    init(publisher: EventPublisher) {
        self.publisher = publisher
        window = AnalyticsWindow(publisher: publisher)
        handler = AnalyticsEventHandler(presenter: AnalyticsPresenter(window: window))
    }

    func open() { publisher.subscribe(handler) }
    func windowWillClose() { publisher.unsubscribe(handler) }
}

@MainActor
@Suite("Scenario: a control deep in a window's views talks to the window's event handler", .timeLimit(.minutes(5)))
struct AnalyticsWindowScenario {
    private let publisher = EventPublisher()

    private struct AnalyticsSettled: DomainEvent {}

    /// Returns when the main actor has handled everything that was published before.
    private func settle() async throws {
        let subscription = publisher.subscribe(to: AnalyticsSettled.self, on: .main) { _ in }
        try await publisher.deliver(AnalyticsSettled(), within: .seconds(50))
        subscription.cancel()
    }

    @Test func thePresenterHearsOfIt() async throws {
        let useCase = ShowAnalyticsWindow(publisher: publisher)
        useCase.open()
        useCase.window.pane.picker.apply(from: 1, to: 7)
        useCase.window.pane.cells[1].close()
        try await settle()
        #expect(useCase.window.title == "days 1 to 7, without Browser")
    }

    @Test func openedTwiceItIsToldOnce() async throws {
        let useCase = ShowAnalyticsWindow(publisher: publisher)
        useCase.open()
        useCase.open()
        useCase.window.pane.cells[0].close()
        try await settle()
        #expect(useCase.window.title == ", without Editor")
    }

    @Test func aWindowThatWasClosedHearsNothingNotEvenWhatIsOnItsWay() async throws {
        let useCase = ShowAnalyticsWindow(publisher: publisher)
        useCase.open()
        useCase.window.pane.picker.apply(from: 1, to: 7)
        useCase.windowWillClose()
        useCase.window.pane.picker.apply(from: 8, to: 14)
        try await settle()
        #expect(useCase.window.title == "")
        useCase.open()
        useCase.window.pane.picker.apply(from: 15, to: 21)
        try await settle()
        #expect(useCase.window.title == "days 15 to 21")
    }

    /// Publisher, event handler, presenter and window form no circle that keeps them alive.
    @Test func everythingIsReleasedWithTheUseCaseAlsoWhenTheWindowWasNotClosed() async throws {
        weak var window: AnalyticsWindow?
        do {
            let useCase = ShowAnalyticsWindow(publisher: publisher)
            useCase.open()
            window = useCase.window
            withExtendedLifetime(useCase) {}
        }
        #expect(window == nil)
        publisher.publish(AnalyticsWindowEvent.applicationUnselected("Editor"))
        try await settle()
        #expect(!publisher.isWanted("AnalyticsWindowEvent"))
    }
}

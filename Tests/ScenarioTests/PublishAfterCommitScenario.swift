import DomainEvents
import EventBridgeTesting
import ExampleDomain
import Testing

private struct DiskFull: Error {}

/// Saves everything or nothing, and announces only what is saved.
private struct UnitOfWork {
    let publisher: EventPublisher
    let save: () throws -> Void

    func execute(_ work: () throws -> Void) throws {
        try publisher.transaction {
            try work()
            try save()
        }
    }
}

@Suite("Scenario: what was not saved is not announced", .timeLimit(.minutes(5)))
struct PublishAfterCommitScenario {
    private let publisher = EventPublisher()
    private let recorder: EventRecorder

    init() {
        recorder = EventRecorder(publisher)
    }

    private func removeTwoBoxes() {
        publisher.publish(BoxRemoved(boxID: BoxID(1)))
        publisher.publish(ItemMoved(itemID: ItemID(1), from: BoxID(2), to: BoxID(3)))
        publisher.publish(BoxRemoved(boxID: BoxID(2)))
    }

    @Test func noSubscriberHearsOfWorkWhoseSaveFails() {
        let work = UnitOfWork(publisher: publisher) { throw DiskFull() }
        #expect(throws: DiskFull.self) { try work.execute { removeTwoBoxes() } }
        #expect(recorder.all.isEmpty)
    }

    @Test func nothingIsAnnouncedBeforeItIsSaved() throws {
        let work = UnitOfWork(publisher: publisher) { #expect(recorder.all.isEmpty) }
        try work.execute {
            removeTwoBoxes()
            #expect(recorder.all.isEmpty)
        }
        #expect(recorder.names == ["BoxRemoved", "ItemMoved", "BoxRemoved"])
    }

    /// "Synchronously" means it: when the unit of work has returned, every inline subscriber has been told.
    @Test func everythingIsAnnouncedWhenTheUnitOfWorkHasReturned() throws {
        let presenter = BoxListPresenter(publisher: publisher)
        try UnitOfWork(publisher: publisher) {}.execute {
            publisher.publish(BoxProvisioned(boxID: BoxID(1), label: "A", capacity: 5))
            #expect(presenter.state.isEmpty)
        }
        #expect(presenter.state.map(\.label) == ["A"])
    }

    @Test func workThatThrowsIsNotSavedAndNotAnnounced() {
        var saves = 0
        let work = UnitOfWork(publisher: publisher) { saves += 1 }
        #expect(throws: DiskFull.self) {
            try work.execute {
                removeTwoBoxes()
                throw DiskFull()
            }
        }
        #expect(saves == 0)
        #expect(recorder.all.isEmpty)
    }

    @Test func theFailureItselfIsAnnouncedOutside() {
        let work = UnitOfWork(publisher: publisher) { throw DiskFull() }
        do {
            try work.execute { removeTwoBoxes() }
        } catch {
            publisher.publish(BoxRemovalFailed(boxID: BoxID(1), reason: "it could not be saved"))
        }
        #expect(recorder.names == ["BoxRemovalFailed"])
    }
}

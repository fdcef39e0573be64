import Testing

@testable import DomainEvents

@Suite("The table of objects that are subscribed without a subscription to keep")
struct ConsumerTableTests {
    @Test("hands out the living objects with the subscriptions of the dead ones, so that the lock covers no deinit")
    func living() {
        let (live, publisher) = (Counter(), EventPublisher())
        let subscription = publisher.subscribe(to: Ping.self) { _ in }
        var table = ConsumerTable()
        var objects = [Tracked(live), Tracked(live)]
        for object in objects {
            guard let number = table.reserve(object).number else { continue }
            _ = table.complete(object, number: number, subscription)
        }
        objects.removeLast()
        let (first, living) = table.removeDead()
        #expect(first == [subscription])
        // Another thread may release its reference while the table is looked through.
        objects = []
        #expect(live.count == 1)
        // Without the caller's reference the object would be dead, and its entry with it.
        let second = withExtendedLifetime(living) { table.removeDead().left }
        #expect(second.isEmpty)
    }
}

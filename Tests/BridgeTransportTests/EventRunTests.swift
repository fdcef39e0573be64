import Testing

@testable import BridgeTransport

@Suite("What a reading thread keeps from one event to the next")
struct EventRunTests {
    private final class Receivers {}

    @Test("are the receivers of the last name, and no others")
    func held() {
        var run = EventRun()
        #expect(run.receiversAddress == 0)
        let (first, second) = (Receivers(), Receivers())
        run.hold(first)
        #expect(run.receiversAddress == UInt(bitPattern: ObjectIdentifier(first)))
        run.hold(second)
        #expect(run.receiversAddress == UInt(bitPattern: ObjectIdentifier(second)))
    }

    @Test("lives until other receivers are held, or something other than an event follows", arguments: [false, true])
    func released(byAnother: Bool) {
        var run = EventRun()
        weak var held: Receivers?
        do {
            let receivers = Receivers()
            held = receivers
            run.hold(receivers)
        }
        #expect(held != nil)
        if byAnother { run.hold(Receivers()) } else { run.letGo() }
        #expect(held == nil)
        #expect((run.receiversAddress == 0) == !byAnother)
    }

    @Test("is the event whose handlers have returned, until the link has noted it")
    func handled() {
        var run = EventRun()
        #expect(run.handled == 0)
        run.wasHandled(3, wasUnwanted: true)
        run.letGo()
        #expect(run.handled == 3)
        #expect(run.wasUnwanted)
        run.wasHandled(4)
        #expect(run.handled == 4)
        #expect(!run.wasUnwanted)
        run.wasNoted()
        #expect(run.handled == 0)
    }
}

import NamedSockets
import Testing

@Suite("How long silent connections may stay, and how many")
struct ArrivalStateMachineTests {
    @Test("connections that say no hello in time are cut off, each at its own time")
    func deadline() {
        var machine = ArrivalStateMachine(maximum: 8, timeout: 100)
        #expect(machine.nextDeadline == nil)
        #expect(machine.handle(.connected(1), at: 10).isEmpty)
        #expect(machine.handle(.connected(2), at: 50).isEmpty)
        #expect(machine.nextDeadline == 110)
        #expect(machine.handle(.timePassed, at: 109).isEmpty)
        #expect(machine.handle(.timePassed, at: 110) == [.init(connection: 1, reason: .silent)])
        #expect(machine.nextDeadline == 150)
        #expect(machine.handle(.timePassed, at: 1_000) == [.init(connection: 2, reason: .silent)])
        #expect(machine.nextDeadline == nil)
    }

    @Test("of too many connections the one that has waited longest goes")
    func crowd() {
        var machine = ArrivalStateMachine(maximum: 2, timeout: 100)
        for connection in 1...2 as ClosedRange<UInt64> { _ = machine.handle(.connected(connection), at: 0) }
        #expect(machine.handle(.connected(3), at: 1) == [.init(connection: 1, reason: .crowded)])
        #expect(machine.handle(.connected(4), at: 1) == [.init(connection: 2, reason: .crowded)])
        #expect(machine.count == 2)
    }

    @Test("a connection that has spoken outlasts the silent ones; where all have spoken, the oldest goes")
    func spoken() {
        var machine = ArrivalStateMachine(maximum: 2, timeout: 100)
        for connection in 1...2 as ClosedRange<UInt64> { _ = machine.handle(.connected(connection), at: 0) }
        #expect(machine.handle(.spoke(1), at: 0).isEmpty)
        #expect(machine.handle(.connected(3), at: 1) == [.init(connection: 2, reason: .crowded)])
        #expect(machine.handle(.spoke(3), at: 1).isEmpty)
        #expect(machine.handle(.connected(4), at: 1) == [.init(connection: 1, reason: .crowded)])
        // The deadline holds all the same.
        #expect(machine.handle(.timePassed, at: 101).map(\.connection) == [3, 4])
    }

    @Test("a connection that is introduced, or has ended, takes no place and has no deadline")
    func settled() {
        var machine = ArrivalStateMachine(maximum: 2, timeout: 100)
        for connection in 1...2 as ClosedRange<UInt64> { _ = machine.handle(.connected(connection), at: 0) }
        _ = machine.handle(.introduced(1), at: 1)
        _ = machine.handle(.ended(2), at: 1)
        #expect(machine.handle(.connected(3), at: 2).isEmpty)
        #expect(machine.handle(.timePassed, at: 101).isEmpty)
        #expect(machine.count == 1)
        // A second end of a connection changes nothing, nor does the end of an unknown one.
        _ = machine.handle(.ended(2), at: 101)
        _ = machine.handle(.ended(99), at: 101)
        #expect(machine.count == 1)
    }

    @Test("a timeout beyond the end of time is for ever")
    func forever() {
        var machine = ArrivalStateMachine(maximum: 1, timeout: .max)
        _ = machine.handle(.connected(1), at: 5)
        #expect(machine.nextDeadline == .max)
    }

    @Test("accepting pauses longer each time that it fails, up to a second, and anew after it has worked")
    func pauses() {
        var machine = ArrivalStateMachine(maximum: 1, timeout: 1)
        let pauses = (0..<7).map { _ in machine.acceptingFailed() / 1_000_000 }
        #expect(pauses == [50, 100, 200, 400, 800, 1_000, 1_000])
        _ = machine.handle(.connected(1), at: 0)
        #expect(machine.acceptingFailed() == 50_000_000)
    }
}

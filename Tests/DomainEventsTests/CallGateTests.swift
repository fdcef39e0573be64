import Synchronization
import TestSupport
import Testing

@testable import DomainEvents

/// A call that is held between the mark of its entry and the mark that it runs; only a test of the gate can hold it.
@Suite("cancel waits for calls that are being entered, and for no others", .timeLimit(.minutes(5)))
struct CallGateTests {
    /// Holds a call at its entry on one thread while another thread closes the gate; returns whether the closing thread
    /// waited until the call ran.
    private func waits(
        entering: @Sendable @escaping (CallGate) -> Void,
        running: @Sendable @escaping (CallGate) -> Void,
        leaving: @Sendable @escaping (CallGate) -> Void
    ) async -> Bool {
        let gate = CallGate()
        let (isEntering, isCancelled, hasWaited) = (Flag(), Flag(), Flag())
        await onThreads(2) { index in
            if index == 0 {
                entering(gate)
                isEntering.set()
                // Gives the other thread time to return, if it does not wait.
                for _ in 0..<5_000 { yieldNow() }
                if !isCancelled.isSet { hasWaited.set() }
                running(gate)
                // No thread waits for a call that runs.
                while !isCancelled.isSet { yieldNow() }
                leaving(gate)
            } else {
                while !isEntering.isSet { yieldNow() }
                #expect(gate.close())
                gate.waitUntilEntered()
                isCancelled.set()
            }
        }
        #expect(!gate.enter())
        return hasWaited.isSet
    }

    @Test func countedAtTheGate() async {
        let hasWaited = await waits { gate in
            gate.state.wrappingAdd(CallGate.oneEntering, ordering: .sequentiallyConsistent)
        } running: { gate in
            gate.state.wrappingAdd(CallGate.oneRunning &- CallGate.oneEntering, ordering: .sequentiallyConsistent)
        } leaving: {
            $0.exit()
        }
        #expect(hasWaited)
    }

    @Test func notedInTheSlotOfTheirThread() async {
        @Sendable func note(_ value: UInt) {
            DeliveryThread.current.slot.pointee.gate.store(value, ordering: .sequentiallyConsistent)
        }
        let hasWaited = await waits { gate in
            note(gate.address)
        } running: { gate in
            note(gate.address | DeliverySlot.isRunning)
        } leaving: { _ in
            note(0)
        }
        #expect(hasWaited)
    }
}

import DomainEvents
import Supervision
import Testing

@testable import EventBridge

@Suite("Whether an event may be to blame for the end of a worker's process")
struct EndRecordTests {
    /// A finding about a process's end; a case lists the findings in their order.
    enum Step: Sendable {
        case goodbye, signal, request, violation, overrun
    }

    private static let violation = EndRecord.Fault(reason: .protocolViolation("a line is not JSON"))
    private static let overrun = EndRecord.Fault(
        reason: .handlerTimedOut(event: "A", after: .seconds(1)),
        suspects: [EventID(origin: "host", incarnation: 1, number: 7)]
    )

    static let ends: [(steps: [Step], isCrash: Bool, fault: EndRecord.Fault?)] = [
        ([], true, nil),
        ([.signal], false, nil),
        ([.request], false, nil),
        ([.request, .signal], false, nil),
        ([.goodbye], false, nil),
        ([.goodbye, .signal], false, nil),
        // The host's signal follows the violation, and is not the reason of the end.
        ([.violation], true, violation),
        ([.violation, .signal], true, violation),
        ([.overrun, .signal], true, overrun),
        // The host was about to end it for another reason.
        ([.signal, .violation], false, nil),
        ([.request, .violation, .signal], false, nil),
        ([.violation, .request, .signal], false, nil),
        ([.overrun, .request, .signal], false, nil),
        // The first finding is the reason.
        ([.violation, .overrun, .signal], true, violation),
        ([.overrun, .violation, .signal], true, overrun),
        // The process had finished its events.
        ([.goodbye, .violation, .signal], false, nil),
        ([.overrun, .goodbye, .signal], false, overrun),
    ]

    @Test("ends are judged as the table says", arguments: ends.indices)
    func table(_ index: Int) {
        let (steps, isCrash, fault) = Self.ends[index]
        var record = EndRecord()
        for step in steps {
            switch step {
            case .goodbye: record.goodbyeReceived()
            case .signal: record.signalWasSent()
            case .request: record.endWasRequested()
            case .violation: _ = record.faultWasFound(Self.violation)
            case .overrun: _ = record.faultWasFound(Self.overrun)
            }
        }
        #expect(record.isCrash == isCrash, "\(steps)")
        #expect(record.fault == fault, "\(steps)")
    }

    @Test("a fault is news once, and not when the end is known")
    func news() {
        var record = EndRecord()
        let first = record.faultWasFound(Self.overrun)
        let second = record.faultWasFound(Self.violation)
        #expect(first && !second)
        var asked = EndRecord()
        asked.endWasRequested()
        let late = asked.faultWasFound(Self.violation)
        #expect(!late)
    }

    @Test("the limit of a box is named for a process that the host has not signalled")
    func limit() throws {
        let killed = ExitReason.signaled(number: 9, coreDumped: false)
        let box = WorkerBox(memory: 1 << 30, processorTime: .seconds(1))
        for (limit, usage) in [
            (ResourceLimit.memory, ResourceUsage(userTime: .zero, systemTime: .zero, peakMemory: 1 << 30)),
            (ResourceLimit.processorTime, ResourceUsage(userTime: .seconds(1), systemTime: .zero, peakMemory: nil)),
        ] {
            var record = EndRecord()
            record.endWasRequested()
            #expect(record.explanation(of: killed, in: box, usage).exceededLimit == limit)
            #expect(record.explanation(of: killed, in: nil, usage) == killed)
            // Such an end is permanent, whatever the program has used.
            #expect(record.explanation(of: .exited(status: 78), in: box, usage) == .exited(status: 78))
            // A caller's signal explains an end by that signal, and no other end.
            record.signalWasSent(byRequest: try #require(SignalNumber("USR1")))
            #expect(record.explanation(of: killed, in: box, usage).exceededLimit == limit)
            var asked = record
            asked.signalWasSent(byRequest: try #require(SignalNumber("KILL")))
            asked.signalWasSent(byRequest: try #require(SignalNumber("CONT")))
            #expect(asked.explanation(of: killed, in: box, usage) == killed)
            record.signalWasSent()
            #expect(record.explanation(of: killed, in: box, usage) == killed)
        }
    }
}

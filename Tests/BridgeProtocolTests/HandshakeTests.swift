import BridgeProtocol
import DomainEvents
import Testing

@Suite("The host's judgement of a hello")
struct HostHandshakeTests {
    private func hello(
        _ versions: ClosedRange<UInt64>,
        cookie: String = "secret",
        library: String = "other 2.0"
    ) -> Hello {
        Hello(
            versions: versions,
            name: "canvas",
            cookie: cookie,
            library: library,
            windowBytes: 1,
            windowEvents: 1,
            frameBytes: 1
        )
    }

    private func rejection(_ hello: Hello) -> Reject? {
        guard case .reject(let reject) = HostHandshake.helloReceived(hello, expecting: "secret") else { return nil }
        return reject
    }

    @Test(
        "the highest common version is accepted",
        arguments: [1...1, 0...1, 1...9, 0 ... .max] as [ClosedRange<UInt64>]
    )
    func accepted(versions: ClosedRange<UInt64>) {
        #expect(HostHandshake.helloReceived(hello(versions), expecting: "secret") == .accept(version: 1))
    }

    @Test(
        "without a common version the reject names both sides' versions and the worker's library",
        arguments: [
            (0...0, "version 0 (other 2.0)"), (2...2, "version 2 (other 2.0)"), (2...7, "version 2 to 7 (other 2.0)"),
            // More versions than an Int can count.
            (2 ... .max, "version 2 to 18446744073709551615 (other 2.0)"),
        ] as [(ClosedRange<UInt64>, String)]
    )
    func noCommonVersion(versions: ClosedRange<UInt64>, text: String) throws {
        let reject = try #require(rejection(hello(versions)))
        #expect(reject.reason == Reject.Reason.version.rawValue)
        #expect(reject.text.contains(text))
        #expect(reject.text.contains("the host speaks version 1"))
    }

    @Test("a library's name does not make the reject long")
    func longLibrary() throws {
        let reject = try #require(rejection(hello(2...2, library: "e" + String(repeating: "\u{301}", count: 20_000))))
        #expect(reject.text.utf8.count < 400)
    }

    @Test("another cookie is rejected, and not told", arguments: ["", "Secret", "secret "])
    func otherCookie(cookie: String) throws {
        let reject = try #require(rejection(hello(1...1, cookie: cookie)))
        #expect(reject.reason == Reject.Reason.cookie.rawValue)
        #expect(!reject.text.contains("secret"))
    }
}

@Suite("Which frames are allowed when")
struct LinkPhaseMachineTests {
    private static let kinds = FrameKind.allCases

    private enum Verdict {
        case stays
        case establishes
        case ends
        case violates
    }

    /// The whole table, by role and phase.
    private static func verdict(
        _ role: LinkPhaseMachine.Role,
        _ phase: LinkPhaseMachine.Phase,
        _ kind: FrameKind
    ) -> Verdict {
        switch phase {
        case .handshake:
            switch (role, kind) {
            case (.host, .hello), (.worker, .welcome): .establishes
            case (.worker, .reject), (.worker, .goodbye): .ends
            default: .violates
            }
        case .established:
            switch (role, kind) {
            case (_, .interest), (_, .event), (_, .placed), (_, .gap), (_, .acknowledge), (_, .refuse), (_, .receipt),
                (_, .heartbeat):
                .stays
            case (.host, .ready), (.host, .moreTime), (.worker, .drain): .stays
            case (_, .goodbye): .ends
            default: .violates
            }
        case .ended: .violates
        }
    }

    private func machine(_ role: LinkPhaseMachine.Role, in phase: LinkPhaseMachine.Phase) throws -> LinkPhaseMachine {
        var machine = LinkPhaseMachine(role: role)
        if phase == .handshake { return machine }
        try machine.frameReceived(role == .host ? .hello : .welcome)
        if phase == .ended { try machine.frameReceived(.goodbye) }
        return machine
    }

    @Test(
        "every kind in every phase, for either role",
        arguments: [LinkPhaseMachine.Role.host, .worker],
        [LinkPhaseMachine.Phase.handshake, .established, .ended]
    )
    func table(role: LinkPhaseMachine.Role, phase: LinkPhaseMachine.Phase) throws {
        for kind in Self.kinds {
            var machine = try machine(role, in: phase)
            #expect(machine.phase == phase)
            let verdict = Self.verdict(role, phase, kind)
            do {
                try machine.frameReceived(kind)
                #expect(verdict != .violates, "\(kind) for a \(role) in \(phase)")
            } catch {
                #expect(verdict == .violates, "\(kind) for a \(role) in \(phase): \(error)")
                #expect(error.description.contains("\(kind)"))
            }
            let expected: LinkPhaseMachine.Phase =
                switch verdict {
                case .stays, .violates: phase
                case .establishes: .established
                case .ends: .ended
                }
            #expect(machine.phase == expected, "\(kind) for a \(role) in \(phase)")
        }
    }

    @Test("a worker is ready once")
    func readyTwice() throws {
        var machine = try machine(.host, in: .established)
        try machine.frameReceived(.ready)
        #expect(throws: LinkViolation("the worker said twice that it is ready")) { try machine.frameReceived(.ready) }
    }

    @Test("nothing is taken from a worker whose hello was answered with a reject")
    func rejected() throws {
        for kind in Self.kinds {
            var machine = try machine(.host, in: .established)
            machine.peerWasRejected()
            #expect(throws: LinkViolation.self) { try machine.frameReceived(kind) }
        }
    }

    @Test("the numbers of the kinds never change")
    func stableNumbers() {
        #expect(Self.kinds.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16])
        #expect(FrameKind.firstSkippable == 128)
        #expect(Reject.Reason.allCases.map(\.rawValue) == [1, 2, 3, 4])
        #expect(Refusal.Reason.allCases.map(\.rawValue) == [1, 2, 3, 4])
        #expect(Receipt.Outcome.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(Goodbye.Reason.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 7])
    }
}

@Suite("What the peer wants")
struct InterestTableTests {
    private func table(limit: Int = 10) -> InterestTable {
        var limits = LinkLimits()
        limits.interestNames = limit
        return InterestTable(limits: limits)
    }

    @Test("names are found by number and numbers by name")
    func wanted() throws {
        var table = table()
        try table.apply(Interest(wanted: [.init(number: 0, name: "*"), .init(number: 7, name: "BoxSaved")]))
        #expect(table.number(of: "BoxSaved") == 7)
        #expect(table.name(of: 7) == "BoxSaved")
        #expect(table.number(of: "*") == 0)
        #expect(table.number(of: "other") == nil)
        #expect(table.name(of: 8) == nil)
    }

    @Test("names that are equal as texts and not as bytes are two")
    func spellings() throws {
        var table = table()
        try table.apply(Interest(wanted: [.init(number: 1, name: "\u{E9}"), .init(number: 2, name: "e\u{301}")]))
        #expect(table.number(of: "\u{E9}") == 1 && table.number(of: "e\u{301}") == 2)
        #expect(throws: LinkViolation.self) {
            try table.apply(Interest(wanted: [.init(number: 1, name: "e\u{301}")], unwanted: [1, 2]))
        }
    }

    @Test("a number keeps its meaning after the name is no longer wanted, and can be wanted again")
    func unwanted() throws {
        var table = table()
        try table.apply(Interest(wanted: [.init(number: 7, name: "a")]))
        try table.apply(Interest(unwanted: [7]))
        #expect(table.number(of: "a") == nil)
        #expect(table.name(of: 7) == "a")
        try table.apply(Interest(wanted: [.init(number: 7, name: "a")]))
        #expect(table.number(of: "a") == 7)
    }

    @Test("what is no longer wanted is taken out before what is wanted is put in")
    func sameMessage() throws {
        var table = table()
        try table.apply(Interest(wanted: [.init(number: 1, name: "a")]))
        try table.apply(Interest(wanted: [.init(number: 2, name: "a")], unwanted: [1]))
        #expect(table.number(of: "a") == 2)
        #expect(table.name(of: 1) == "a")
        // The old number is not the one that is wanted.
        #expect(throws: LinkViolation.self) { try table.apply(Interest(unwanted: [1])) }
        #expect(table.number(of: "a") == 2)
    }

    @Test("unknown numbers, a second name for a number and a second wish for a name are violations")
    func violations() throws {
        var table = table()
        try table.apply(Interest(wanted: [.init(number: 1, name: "a")]))
        #expect(throws: LinkViolation("name number 3 is no longer wanted, but was not before")) {
            try table.apply(Interest(unwanted: [3]))
        }
        #expect(throws: LinkViolation("name number 1 is given to \"a\" and \"b\"")) {
            try table.apply(Interest(wanted: [.init(number: 1, name: "b")]))
        }
        #expect(throws: LinkViolation("the name \"a\" is wanted twice")) {
            try table.apply(Interest(wanted: [.init(number: 2, name: "a")]))
        }
        #expect(throws: LinkViolation.self) { try table.apply(Interest(unwanted: [1, 1])) }
        for entry in [Interest.Name(number: 0, name: "b"), Interest.Name(number: 3, name: "*")] {
            let error = #expect(throws: LinkViolation.self) { try table.apply(Interest(wanted: [entry])) }
            #expect(error?.description.contains("found \(entry.number) for \"\(entry.name)\"") == true)
        }
    }

    @Test("names that were wanted once count against the limit")
    func limit() throws {
        var table = table(limit: 2)
        try table.apply(Interest(wanted: [.init(number: 1, name: "a"), .init(number: 2, name: "b")]))
        try table.apply(Interest(unwanted: [1]))
        #expect(throws: LinkViolation("interest in more than 2 names")) {
            try table.apply(Interest(wanted: [.init(number: 3, name: "c")]))
        }
        try table.apply(Interest(wanted: [.init(number: 1, name: "a")]))
    }
}

import BridgeProtocol
import DomainEvents

/// Runs a state machine of a link beside a plain model of it, or a whole link; the input chooses which, and the steps.
package final class LinkTarget: FuzzTarget {
    package init() {}

    package func run(_ input: UnsafeRawBufferPointer) throws {
        var script = Script(input)
        switch script.choice(5) {
        case 0: try HonestPeers.run(&script)
        case 1: try HostileReceiver.run(&script)
        case 2: try HostileSender.run(&script)
        case 3: try Handshakes.run(&script)
        default: try HostileLink.run(&script)
        }
    }
}

/// Two sides that keep to the protocol never find a violation in each other's frames, in whatever order they act.
private enum HonestPeers {
    static func run(_ script: inout Script) throws {
        var limits = LinkLimits()
        limits.windowEvents = script.choice(80) + 1
        limits.windowBytes = (script.choice(16) + 1) * 256
        var outbox = Outbox(limits: limits)
        var window = ReceiveWindow(windowBytes: limits.windowBytes, windowEvents: limits.windowEvents)
        let source = EventSource(origin: "a", incarnation: 1)
        var lengths: [Int] = []
        var open: [UInt64] = []
        var settled = 0
        var steps = 0
        while !script.isAtEnd || window.lastReceived < outbox.lastSequence || !open.isEmpty || window.hasUnannounced {
            steps += 1
            try require(steps < 100_000, "two sides that never come to an end")
            let isEnding = script.isAtEnd
            switch isEnding ? steps % 3 : script.choice(4) {
            case 3:
                lengths.append(script.choice(40) * 16 + 8)
                let length = lengths[lengths.count - 1]
                _ = outbox.append(frameLength: length, source: source, number: outbox.lastSequence + 1)
            case 0:
                var pieces: [UnsafeRawBufferPointer] = []
                let before = outbox.lastComposed
                outbox.compose(into: &pieces, maximumBytes: isEnding ? .max : script.choice(64) * 64 + 1)
                outbox.composedWasWritten()
                for sequence in before..<outbox.lastComposed {
                    // Throws if the receiver's window is smaller than the sender believes.
                    try window.eventReceived(
                        sequence: UntrustedNumber(sequence + 1),
                        frameLength: lengths[Int(sequence)]
                    )
                    open.append(sequence + 1)
                }
            case 1 where !open.isEmpty:
                let handled = open.remove(at: isEnding ? 0 : script.choice(open.count))
                _ = window.eventHandled(sequence: handled)
            case 2:
                guard let acknowledgement = window.takeAcknowledgement(after: 0) else { continue }
                settled += outbox.settle(try outbox.credit(acknowledgement))
            default: break
            }
        }
        try require(outbox.isEmpty && outbox.chargedBytes == 0, "\(outbox.count) events are left when all are handled")
        try require(settled == lengths.count, "\(settled) of \(lengths.count) events were settled")
        try require(window.unhandledEvents == 0, "\(window.unhandledEvents) events are unhandled in the end")
    }
}

/// A receiver that acknowledges and refuses anything: the sender reports each claim as a violation or believes it, and
/// the counts stay right.
private enum HostileReceiver {
    private struct Kept {
        let charge: Int
        let isGap: Bool
        var isSettled = false
        var isAcknowledged = false
    }

    static func run(_ script: inout Script) throws {
        var limits = LinkLimits()
        limits.windowEvents = script.choice(16) + 1
        limits.windowBytes = (script.choice(16) + 1) * 256
        var outbox = Outbox(limits: limits)
        let source = EventSource(origin: "a", incarnation: 1)
        var kept: [Kept] = []
        var first = 0
        while !script.isAtEnd {
            switch script.choice(6) {
            case 0, 1:
                let length = script.choice(40) * 16 + 8
                let isGap = script.choice(8) == 7
                _ = outbox.append(frameLength: length, source: source, number: outbox.lastSequence + 1, isGap: isGap)
                kept.append(Kept(charge: LinkLimits.charge(forFrameOf: length), isGap: isGap))
            case 2:
                var pieces: [UnsafeRawBufferPointer] = []
                outbox.compose(into: &pieces, maximumBytes: script.choice(64) * 64 + 1)
                if script.choice(2) == 0 { outbox.composedWasWritten() }
            case 3:
                let acknowledgement = Self.acknowledgement(&script, near: outbox.lastComposed)
                guard let checked = try? outbox.credit(acknowledgement) else { continue }
                var expected = 0
                for sequence in Self.named(checked) { kept[Int(sequence - 1)].isAcknowledged = true }
                for sequence in Self.named(checked) where !kept[Int(sequence - 1)].isSettled {
                    kept[Int(sequence - 1)].isSettled = true
                    if !kept[Int(sequence - 1)].isGap { expected += 1 }
                }
                let settled = outbox.settle(checked)
                try require(settled == expected, "\(settled) events were settled instead of \(expected)")
            case 4:
                let sequence = script.number(near: outbox.lastComposed)
                let isThere = sequence > 0 && sequence <= outbox.lastComposed
                guard let refused = try? outbox.refuse(UntrustedNumber(sequence)) else { continue }
                try require(isThere && !kept[Int(sequence - 1)].isSettled, "\(sequence) was refused")
                let charge = LinkLimits.charge(forFrameOf: refused.frame.count)
                try require(charge == kept[Int(sequence - 1)].charge, "\(sequence) is of \(charge) bytes")
                kept[Int(sequence - 1)].isSettled = true
                outbox.refusalWasTold(settled: nil)
            default:
                outbox.grant(windowBytes: script.choice(16) * 256, windowEvents: script.choice(16))
            }
            while first < outbox.lastWritten, kept[first].isSettled, kept[first].isAcknowledged { first += 1 }
            let charged = kept[first...].reduce(0) { $0 + $1.charge }
            try require(outbox.chargedBytes == charged, "\(outbox.chargedBytes) bytes are kept instead of \(charged)")
            try require((0...charged).contains(outbox.unhandledBytes), "\(outbox.unhandledBytes) unhandled")
            let unsettled = kept.count { !$0.isSettled && !$0.isGap }
            try require(Int(outbox.unsettledEvents) == unsettled, "\(outbox.unsettledEvents) unsettled")
        }
    }

    private static func acknowledgement(_ script: inout Script, near last: UInt64) -> Acknowledgement {
        var acknowledgement = Acknowledgement(mark: script.number(near: last))
        for _ in 0..<script.choice(5) {
            let (one, other) = (script.number(near: last), script.number(near: last))
            // The frame's parser accepts only ranges with ordered bounds.
            acknowledgement.ranges.append(UntrustedNumber(min(one, other))...UntrustedNumber(max(one, other)))
        }
        return acknowledgement
    }

    /// The events that an acknowledgement names; they are few, because the acknowledgement was accepted.
    private static func named(_ acknowledgement: CheckedAcknowledgement) -> [UInt64] {
        let upToMark = acknowledgement.mark > 0 ? Array(1...acknowledgement.mark) : []
        return upToMark + acknowledgement.ranges.flatMap { Array($0) }
    }
}

/// A sender with any numbers and sizes of events: the receiver takes only the next event, within the granted window.
private enum HostileSender {
    static func run(_ script: inout Script) throws {
        let windowEvents = script.choice(100) + 1
        let windowBytes = (script.choice(32) + 1) * 256
        var window = ReceiveWindow(windowBytes: windowBytes, windowEvents: windowEvents)
        var handled: Set<UInt64> = []
        var last: UInt64 = 0
        var mark: UInt64 = 0
        while !script.isAtEnd {
            switch script.choice(4) {
            case 0, 1:
                let sequence = script.choice(8) == 0 ? script.number(near: last) : last &+ 1
                let length = script.choice(8) == 0 ? Int(truncatingIfNeeded: script.number(near: 0) >> 33) : 40
                let taken = try? window.eventReceived(sequence: UntrustedNumber(sequence), frameLength: length)
                guard let taken else { continue }
                try require(taken == sequence && sequence == last + 1, "event \(sequence) was taken behind \(last)")
                last = sequence
            case 2:
                let sequence = script.number(near: mark + 1)
                _ = window.eventHandled(sequence: sequence)
                if sequence >= 1, sequence <= last { handled.insert(sequence) }
                while handled.contains(mark + 1) { mark += 1 }
            default:
                guard let acknowledgement = window.takeAcknowledgement(after: 0, isRepeated: script.choice(2) == 0)
                else { continue }
                try require(acknowledgement.mark == mark, "\(acknowledgement.mark) was acknowledged instead of \(mark)")
                try require(acknowledgement.ranges.count <= Acknowledgement.maximumRanges, "too many ranges")
                var below = mark
                for range in acknowledgement.ranges.map({ $0.lowerBound.asWritten...$0.upperBound.asWritten }) {
                    try require(range.lowerBound > below + 1 && range.upperBound <= last, "\(range) is out of place")
                    try require(range.allSatisfy { handled.contains($0) }, "\(range) was not handled")
                    below = range.upperBound
                }
            }
            try require(window.lastReceived == last && window.mark == mark, "\(window.lastReceived), \(window.mark)")
            try require(window.unhandledEvents == Int(last) - handled.count, "\(window.unhandledEvents) unhandled")
            let span = LinkLimits.lastSequence(afterMark: mark, windowEvents: windowEvents)
            try require(last <= span, "\(last) is beyond \(span)")
        }
    }
}

/// The order of frames, the hello of a worker, and the interest in names.
private enum Handshakes {
    static func run(_ script: inout Script) throws {
        let role: LinkPhaseMachine.Role = script.choice(2) == 0 ? .host : .worker
        var machine = LinkPhaseMachine(role: role)
        var limits = LinkLimits()
        limits.interestNames = script.choice(8) + 1
        var table = InterestTable(limits: limits)
        var names: [UInt64: String] = [:]
        while !script.isAtEnd {
            let before = machine.phase
            switch script.choice(4) {
            case 0, 1:
                let kind = FrameKind.allCases[script.choice(FrameKind.allCases.count)]
                let isTaken = (try? machine.frameReceived(kind)) != nil
                try check(kind, isTaken, role, from: before, to: machine.phase)
            case 2:
                try judge(&script)
            default:
                let interest = Self.interest(&script)
                guard (try? table.apply(interest)) != nil else { return }
                for name in interest.wanted {
                    try require(names[name.number] ?? name.name == name.name, "\(name.number) has two names")
                    names[name.number] = name.name
                    try require(table.number(of: name.name) == name.number, "\(name.name) has another number")
                }
                try require(names.count <= limits.interestNames, "\(names.count) names")
                for (number, name) in names { try require(table.name(of: number) == name, "\(number) is not \(name)") }
            }
        }
    }

    private static func check(
        _ kind: FrameKind,
        _ isTaken: Bool,
        _ role: LinkPhaseMachine.Role,
        from before: LinkPhaseMachine.Phase,
        to after: LinkPhaseMachine.Phase
    ) throws {
        try require(isTaken || before == after, "a refused frame led from \(before) to \(after)")
        switch before {
        case .ended:
            try require(!isTaken, "a \(kind) frame was taken after the end")
        case .handshake:
            let first: [FrameKind] = role == .host ? [.hello] : [.welcome, .reject, .goodbye]
            try require(isTaken == first.contains(kind), "a \(kind) frame first: \(isTaken)")
        case .established:
            try require(!isTaken || ![.hello, .welcome, .reject].contains(kind), "a \(kind) frame in the middle")
            try require(after != .handshake, "back to the handshake")
        }
    }

    private static func judge(_ script: inout Script) throws {
        let (one, other) = (script.number(near: 1), script.number(near: 1))
        let hello = Hello(
            versions: min(one, other)...max(one, other),
            name: "a",
            cookie: script.choice(4) == 0 ? "" : "c",
            library: String(repeating: "\u{E9}", count: script.choice(200)),
            windowBytes: .max,
            windowEvents: .max,
            frameBytes: .max
        )
        switch HostHandshake.helloReceived(hello, expecting: "c") {
        case .accept(let version):
            try require(hello.versions.contains(version) && hello.cookie == "c", "\(hello) was accepted")
        case .reject(let reject):
            try require(reject.text.utf8.count < 1_000, "a reason of \(reject.text.utf8.count) bytes")
        }
    }

    private static func interest(_ script: inout Script) -> Interest {
        var interest = Interest()
        for _ in 0..<script.choice(4) {
            interest.wanted.append(.init(number: script.number(near: 2), name: "name \(script.choice(6))"))
        }
        for _ in 0..<script.choice(3) { interest.unwanted.append(script.number(near: 2)) }
        return interest
    }
}

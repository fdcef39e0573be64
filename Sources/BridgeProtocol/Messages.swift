/// The first frame of a worker or of an attached client: who it is and what it can do.
package struct Hello: Sendable, Hashable {
    /// The text that distinguishes a bridge worker from any other program that writes to the descriptor.
    package static let magic = "event-bridge"

    package var versions: ClosedRange<UInt64>
    package var name: String
    /// The text that the host put into the worker's environment: it shows that the host started this process.
    package var cookie: String
    package var library: String
    /// The window that the worker grants the host.
    package var windowBytes: UntrustedNumber
    package var windowEvents: UntrustedNumber
    /// The largest frame body that the worker takes, in bytes.
    package var frameBytes: UntrustedNumber
    package var features: LinkFeatures

    package init(
        versions: ClosedRange<UInt64> = ProtocolVersion.supported,
        name: String,
        cookie: String,
        library: String,
        windowBytes: UInt64,
        windowEvents: UInt64,
        frameBytes: UInt64,
        features: LinkFeatures = []
    ) {
        self.versions = versions
        self.name = name
        self.cookie = cookie
        self.library = library
        self.windowBytes = UntrustedNumber(windowBytes)
        self.windowEvents = UntrustedNumber(windowEvents)
        self.frameBytes = UntrustedNumber(frameBytes)
        self.features = features
    }
}

/// The host's answer to a hello that it accepts.
package struct Welcome: Sendable, Hashable {
    package var version: UInt64
    package var library: String
    /// The host's own incarnation: part of the identity of its events.
    package var hostIncarnation: UInt64
    /// The worker's incarnation, chosen by the host: part of the identity of the worker's events.
    package var workerIncarnation: UInt64
    /// The window that the host grants the worker.
    package var windowBytes: UntrustedNumber
    package var windowEvents: UntrustedNumber
    /// The largest frame body that the host takes, in bytes.
    package var frameBytes: UntrustedNumber
    /// The time between two heartbeats of the worker; 0 for no heartbeats.
    package var heartbeatMilliseconds: UntrustedNumber
    package var features: LinkFeatures
    /// The name that the host gives a peer that it has not started; nil for a worker, which knows its name.
    package var name: String?
    /// The worker's last bookmark, as the host has kept it; nil if there is none.
    package var bookmark: [UInt8]?

    package init(
        version: UInt64,
        library: String,
        hostIncarnation: UInt64,
        workerIncarnation: UInt64,
        windowBytes: UInt64,
        windowEvents: UInt64,
        frameBytes: UInt64,
        heartbeatMilliseconds: UInt64,
        features: LinkFeatures = [],
        name: String? = nil,
        bookmark: [UInt8]? = nil
    ) {
        self.version = version
        self.library = library
        self.hostIncarnation = hostIncarnation
        self.workerIncarnation = workerIncarnation
        self.windowBytes = UntrustedNumber(windowBytes)
        self.windowEvents = UntrustedNumber(windowEvents)
        self.frameBytes = UntrustedNumber(frameBytes)
        self.heartbeatMilliseconds = UntrustedNumber(heartbeatMilliseconds)
        self.features = features
        self.name = name
        self.bookmark = bookmark
    }

    /// How many milliseconds lie between two heartbeats of the worker, at most a day; 0 for no heartbeats.
    package var beat: UInt64 { heartbeatMilliseconds.clamped(to: 86_400_000) }
}

/// The host's answer to a hello that it does not accept.
package struct Reject: Sendable, Hashable {
    package enum Reason: UInt64, Sendable, CaseIterable {
        /// The two sides have no protocol version in common.
        case version = 1
        /// The peer is not the process that the host started.
        case cookie = 2
        /// As many clients as the host allows are attached already.
        case limit = 3
        /// The peer is a worker of this host, or a process that a worker of this host has started: neither may attach.
        case worker = 4
    }

    package var reason: UInt64
    package var text: String
    /// The state of the host, for a client that has no version in common with the host and so cannot ask for it.
    ///
    /// The bytes are a `BridgeReport`, encoded as in an event.
    package var report: [UInt8]?

    /// The longest report, in bytes: it leaves room for the rest of a frame that is allowed before the welcome.
    package static let longestReport = 60_000

    package init(reason: UInt64, text: String, report: [UInt8]? = nil) {
        self.reason = reason
        self.text = text
        self.report = report
    }
}

/// The event names that one side wants from now on, and the numbers of the names that it no longer wants.
package struct Interest: Sendable, Hashable {
    package struct Name: Sendable, Hashable {
        /// Chosen by the side that wants the events; event frames carry this number in place of the name.
        package var number: UInt64
        package var name: String

        package init(number: UInt64, name: String) {
            self.number = number
            self.name = name
        }
    }

    package var wanted: [Name]
    package var unwanted: [UInt64]

    package init(wanted: [Name] = [], unwanted: [UInt64] = []) {
        self.wanted = wanted
        self.unwanted = unwanted
    }
}

/// Says that an event could not be handled, which settles the event.
package struct Refusal: Sendable, Hashable {
    package enum Reason: UInt64, Sendable, CaseIterable {
        /// The payload is not what the event's type expects.
        case undecodable = 1
        /// The event's own `validate()` threw.
        case invalid = 2
        /// A handler threw.
        case handlerFailed = 3
        /// The sender may not publish events of this name.
        case forbidden = 4
    }

    package var sequence: UntrustedNumber
    package var reason: UInt64
    package var text: String

    package init(sequence: UInt64, reason: UInt64, text: String) {
        self.sequence = UntrustedNumber(sequence)
        self.reason = reason
        self.text = text
    }
}

/// What became of an event in one process; goes to the process that published the event and waits for receipts.
package struct Receipt: Sendable, Hashable {
    package enum Outcome: UInt64, Sendable, CaseIterable {
        /// Every handler has returned; with 0 handlers, the process did not want the event.
        case handled = 0
        /// The event could not be decoded, was invalid or forbidden, or a handler threw.
        case refused = 1
        /// The process was given up, stopped or removed, or the event is larger than it takes. Or the process has
        /// passed the event on to more processes than the receipt names.
        case unavailable = 2
        /// The event was given up because the process died of it too often.
        case deadLettered = 3
        /// The event was dropped before it reached the process, or there was no room for it.
        case dropped = 4
    }

    package var id: WireID
    /// The process that this receipt speaks of.
    package var process: String
    package var outcome: UInt64
    /// How many handlers the event had in that process.
    package var handlers: UntrustedNumber
    /// Why the event was not handled; empty if it was handled.
    package var text: String
    /// The processes that the event was passed on to; a receipt follows from each of them.
    package var passedOnTo: [String]

    package init(
        id: WireID,
        process: String,
        outcome: UInt64 = Outcome.handled.rawValue,
        handlers: UInt64 = 0,
        text: String = "",
        passedOnTo: [String] = []
    ) {
        self.id = id
        self.process = process
        self.outcome = outcome
        self.handlers = UntrustedNumber(handlers)
        self.text = text
        self.passedOnTo = passedOnTo
    }
}

/// The last frame of a side that ends in order, or that says why it breaks off.
package struct Goodbye: Sendable, Hashable {
    package enum Reason: UInt64, Sendable, CaseIterable {
        case shutdown = 1
        case replaced = 2
        case idle = 3
        case violation = 4
        case version = 5
        case limit = 6
        case internalError = 7
    }

    package var reason: UInt64
    package var text: String
    /// The sequence of the newest event that the sender of the goodbye has written.
    package var lastWritten: UntrustedNumber
    /// The sender of the goodbye has handled all received events up to this sequence.
    package var handledMark: UntrustedNumber

    /// Whether the sender has finished what it had; false if it breaks off.
    package var isOrderly: Bool {
        switch Reason(rawValue: reason) {
        case .shutdown, .replaced, .idle: true
        case .violation, .version, .limit, .internalError, nil: false
        }
    }

    package init(reason: UInt64, text: String, lastWritten: UInt64, handledMark: UInt64) {
        self.reason = reason
        self.text = text
        self.lastWritten = UntrustedNumber(lastWritten)
        self.handledMark = UntrustedNumber(handledMark)
    }
}

/// Every frame except events, placed events and gaps.
package enum ControlMessage: Sendable, Hashable {
    case hello(Hello)
    case welcome(Welcome)
    case reject(Reject)
    case interest(Interest)
    case ready
    /// How long from now the sender needs until it is ready or has finished, and what it is doing.
    ///
    /// 0 milliseconds ask for no time and only give the reason; an empty reason keeps the reason given before.
    case moreTime(milliseconds: UntrustedNumber, reason: String)
    /// Carries the incarnation of the side that acknowledges.
    case acknowledge(Acknowledgement, incarnation: UInt64)
    case refuse(Refusal)
    case receipt(Receipt)
    /// A sign of life.
    case heartbeat
    /// Asks the peer to take no more events, to finish those that it has, and to say goodbye within this time.
    case drain(graceMilliseconds: UntrustedNumber)
    case goodbye(Goodbye)
}

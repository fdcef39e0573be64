package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks
import Synchronization

/// Decides where an event goes: to which peers, and whether to the subscribers of this process.
///
/// Both sides use the same router. The host's router has a peer for each worker and each attached client, and passes
/// events between them in their encoded form. A worker's router has one peer, the host. Interest goes the other way:
/// the router asks each peer for the events that this process or another peer wants.
package final class EventRouter: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or guards itself.

    package let publisher: EventPublisher
    package let poller: Poller
    /// The strand of all reports of this process's bridge.
    package let reports: ReportStrand
    let losses: LossReporter
    let trace: TraceReporter
    let receipts = PendingReceipts()
    let replays = PendingReplays()
    let recoveryGate = RecoveryGate()
    let backlogs = BacklogWaits()
    private let isIntakeClosed = Atomic<Bool>(false)
    /// Sees each event that comes from a peer or is published here; replayed and redelivered events do not pass it.
    package let tap: (@Sendable (PassingEvent) -> Void)?
    /// Whether the tap also sees events of this process that no peer wants, other than the bridge's reports.
    let tapsUnwanted: Bool
    /// Keeps the events that a process could not handle; nil in a worker, whose host keeps them.
    let deadLetters: DeadLetterStore?
    /// Whether the router asks every peer for every event, because this process watches them.
    let wantsEverything: Bool
    /// The names of events that do not pass between all peers that want them.
    let control: ControlNames
    /// The names that the router asks for without a subscriber here, because this process watches them.
    let watchedNames: Set<EventName>
    /// Gets every gap that a peer reports, at its place among the events that ``tap`` sees.
    let gapTap: (@Sendable (Gap) -> Void)?

    /// Serialises changes of interest; taken before any peer's or link's lock.
    let lock = Lock()
    /// Whether ``stop(refusing:)`` was called, after which a peer that leaves changes nothing; guarded by `lock`.
    var isStopped = false
    var peers: [Peer] = []
    /// The names of removed peers that had recorded events, or events that have become dead letters.
    ///
    /// A worker's store of handled ids may outlive its peer; the next peer of this name must not let it forget any id.
    var formerlyOwed: Set<String> = []
    /// The names of self-reports that this process knows.
    ///
    /// A peer that asks for everything gets none of them. `EventsTraced` counts as a self-report even before this
    /// process has used it.
    var selfReports: Set<EventName> = [EventName(EventsTraced.eventName)]

    let names: EventNames
    /// The names of this process's events that came when all numbers were given out; guarded by `lock`.
    var numberless: Set<EventName> = []

    /// - Parameters:
    ///   - reports: the strand of the bridge's reports; nil to make one for this router.
    ///   - processName: the name of the process in its trace; nil for the publisher's origin.
    package init(
        publisher: EventPublisher,
        poller: Poller,
        reports: ReportStrand? = nil,
        wantsEverything: Bool = false,
        watchedNames: Set<EventName> = [],
        deadLetters: DeadLetterStore? = nil,
        control: ControlNames = ControlNames(),
        processName: String? = nil,
        tap: (@Sendable (PassingEvent) -> Void)? = nil,
        tapsUnwanted: Bool = true,
        gapTap: (@Sendable (Gap) -> Void)? = nil
    ) {
        self.control = control
        names = EventNames(control: control)
        self.deadLetters = deadLetters
        self.publisher = publisher
        self.poller = poller
        self.wantsEverything = wantsEverything
        self.watchedNames = watchedNames
        self.tap = tap
        self.tapsUnwanted = tapsUnwanted
        self.gapTap = gapTap
        let reports = reports ?? ReportStrand(publisher: publisher, poller: poller)
        self.reports = reports
        losses = LossReporter(publisher: publisher, reports: reports, poller: poller)
        let process = processName ?? publisher.source.origin
        trace = TraceReporter(process: process, publisher: publisher, reports: reports, poller: poller)
    }

    /// Tells `keeper` the names that the router has numbered, and from now on each new one before a peer can use its
    /// number; `keeper` calls nothing of the router.
    package func tellNames(to keeper: @escaping @Sendable (_ name: String, _ number: UInt64) -> Void) {
        names.tell(keeper)
    }

    /// Whether the publisher's own journal records the events of this name.
    package func records(_ name: String) -> Bool { publisher.channel(named: name)?.isRecorded ?? false }

    /// Begins to forward the publisher's events.
    package func start() {
        publisher.addInterestObserver(self)
        // If the router was stopped during this call, nothing else would take it out of the publisher.
        if lock.withLock({ isStopped }) { publisher.removeInterestObserver(self) }
    }

    /// Stops taking this process's events that have no cause, except reports for attached peers.
    package func closeIntake() {
        isIntakeClosed.store(true, ordering: .relaxed)
        // A worker that is down may never be started again, and so never make room.
        recoveryGate.open()
    }

    /// Whether ``closeIntake()`` was called.
    package var hasClosedIntake: Bool { isIntakeClosed.load(ordering: .relaxed) }

    /// A phrase for what keeps the link of a gone peer from ending, such as `a handler of BoxProvisioned`; nil if
    /// nothing in particular does.
    package func whatKeeps(_ link: Link, of peer: Peer) -> String? {
        if let target = recoveryGate.awaited(by: peer) { return "room at worker \"\(target.peerName)\"" }
        return named(link.nameInHand).map { "a handler of \($0.name)" }
    }

    /// The error for an event of this process that the router does not take; nil if the router takes the event.
    func refusal(of topic: Topic, _ context: BorrowedContext) -> DeliveryError? {
        hasClosedIntake && context.cause == nil ? shutdownError(of: topic.name).identified(by: context.id) : nil
    }

    func shutdownError(of name: String) -> DeliveryError {
        DeliveryError(.shuttingDown, of: name, "\(name) was not taken: the bridge is shutting down")
    }

    /// Calls `body` when all reports and losses so far have been delivered, or after ``ReportStrand/waitLimit``; at
    /// once if none is left.
    package func whenReported(_ body: @escaping @Sendable () -> Void) {
        losses.announce()
        reports.whenPassed(body)
    }

    /// Begins to exchange events with the host, this process's only peer, or goes on over a new link.
    func hostHasCome(_ host: Peer, over link: Link) {
        let isFirst = lock.withLock { peers.isEmpty }
        if isFirst { add(host) }
        // Until the host says which names it wants, the names that it wanted over the last link count, and their
        // events go into the outbox.
        announceInterest(to: host, over: link, keepsWishes: true)
        if isFirst { start() }
    }

    /// Ends the waits of callers for receipts, because none will come any more.
    ///
    /// A worker's events still go to the link to its host. The link takes them as long as it reaches the host, and
    /// refuses them otherwise.
    package func hostHasGone() {
        receipts.failAll(.workerUnavailable, because: "the bridge has ended")
        replays.end(because: "the bridge has ended")
        recoveryGate.open()
        losses.announce()
        trace.turn(on: nil)
    }

    /// Stops forwarding the publisher's events, and lets all recoveries pass the gate.
    ///
    /// - Parameter refusal: the error text for callers that publish events which the peers wanted; nil if the publisher
    ///   is of use without the peers.
    package func stop(refusing refusal: String? = nil) {
        hostHasGone()
        reports.end()
        let numberless = lock.withLock {
            isStopped = true
            return self.numberless
        }
        publisher.removeInterestObserver(self)
        for name in numberless { publisher.setForwarding(of: name.text, by: self, to: nil) }
        for named in names.all {
            let isRefused = !named.targets.isEmpty
            publisher.setForwarding(
                of: named.name,
                by: self,
                to: isRefused ? refusal.map { RefusingForwarder(named.name, because: $0) } : nil
            )
        }
        publisher.forwardingWasSet()
    }

    // MARK: - What is owed

    /// Whether this process is responsible for the events that it has taken: only a host is.
    var keepsCustody: Bool { deadLetters != nil }

    /// Notes that a peer has settled a recorded event, or will not get it.
    func settled(_ id: EventID, at peer: Peer) { settled([id.number...id.number], of: id.source, at: peer) }

    /// Notes that a peer has settled recorded events of one source.
    ///
    /// - Parameter numbers: ranges in ascending order, at most ``CustodyNote/mostRanges``.
    func settled(_ numbers: [ClosedRange<UInt64>], of source: EventSource, at peer: Peer) {
        publisher.recording.note(.settled(source: source, ranges: numbers, by: peer.noted))
    }

    // MARK: - Names

    package static let maximumNames = 65_536

    /// Works out which peers get the events of a new name: the peers that want everything want this name too.
    ///
    /// Called for each run of a peer's events, and for each event that is published under a name instead of a type: the
    /// thread that made the name's topic may not have called this yet.
    func ensureTargets(of topic: Topic) {
        if !topic.hasTargets { updateTargets(of: [topic]) }
    }

    /// The topic of a name; nil if peers have made up more names than any program has.
    func named(_ name: String) -> Topic? { names.topic(of: name) }

    /// The error for an event of this process whose name has no number, because all numbers are given out.
    static func tooManyNames(for name: String) -> DeliveryError {
        DeliveryError(
            .outboxFull,
            of: name,
            "\(name) was not taken: more than \(maximumNames) event names are in use"
        )
    }

    func named(_ number: UInt64) -> Topic? { names[number]?.takeUnretainedValue() }

    var allNames: [String] { names.all.map(\.name) }

    /// The name of an event that a peer sent; nil if this router never gave out its number.
    package func name(of name: WireName) -> String? {
        switch name {
        case .text(let text): text
        case .number(let number): named(number)?.name
        }
    }

    func announce(_ loss: Topic.Loss, of name: String) {
        losses.add(event: name, id: loss.id, link: loss.peerName, reason: loss.error.description)
        guard loss.error.code == .outboxFull else { return }
        loss.peer.note(Gap(loss.id, name: name, reason: .full))
    }
}

import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks
import Synchronization

/// Everything the router knows of one event name: the peers that want it, and how it is delivered here.
final class Topic: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let name: String
    /// The number that stands for the name in this process's interest, on every link.
    let number: UInt64
    /// The processes between which the events pass.
    let scope: ControlNames.Scope
    /// Whether these are the events that report traces, which leave no trace themselves.
    let isTrace: Bool

    /// Whether ``setTargets(_:isSelfReport:reports:)`` has set the receivers.
    private let wasTargeted = Atomic<Bool>(false)

    private let lock = Lock()
    @exclusivity(unchecked) private var current: Fanout
    /// The address of `current`; the two change together.
    let address: Atomic<UInt>
    /// The ``PayloadCoder`` of the one type with this name, owned here; nil until the type is known.
    private let coder = Atomic<UnsafeRawPointer?>(nil)

    init(name: String, number: UInt64, scope: ControlNames.Scope) {
        self.name = name
        self.number = number
        self.scope = scope
        isTrace = name == EventsTraced.eventName
        current = Fanout(targets: [], attached: [], pooled: nil, receiver: nil)
        address = Atomic(current.address)
    }

    deinit {
        if let coder = coder.load(ordering: .acquiring) { Unmanaged<AnyObject>.fromOpaque(coder).release() }
    }

    var fanout: Fanout { lock.withLock { current } }

    /// The receivers of the events; `run` keeps them alive until it holds other receivers.
    func fanout(in run: inout EventRun) -> Unmanaged<Fanout> {
        // While a run holds receivers, no other receivers can have their address.
        if let kept = UnsafeRawPointer(bitPattern: run.receiversAddress),
            run.receiversAddress == address.load(ordering: .acquiring)
        {
            return .fromOpaque(kept)
        }
        let present = fanout
        run.hold(present)
        return .passUnretained(present)
    }

    /// Puts other receivers in the place of the present ones; called under `lock`.
    ///
    /// - Returns: The former receivers, which the caller releases without the lock. If they were released while
    ///   `address` is still theirs, another topic's receivers could be made at that address. A run that holds those
    ///   would take them for the receivers of this topic.
    func put(_ fanout: Fanout) -> Fanout {
        let former = current
        current = fanout
        address.store(fanout.address, ordering: .releasing)
        return former
    }

    var targets: [Peer] { fanout.targets }

    /// Whether ``setTargets(_:isSelfReport:reports:)`` has been called.
    var hasTargets: Bool { wasTargeted.load(ordering: .acquiring) }

    /// - Returns: The peers that get the events from now on.
    func setTargets(_ peers: [Peer], isSelfReport: Bool, reports: ReportStrand) -> Fanout {
        let targets = peers.filter { !$0.isAttached }
        let attached = peers.filter(\.isAttached)
        let pooled = PooledTargets(targets, name: name, isSelfReport: isSelfReport, reports: reports)
        let (fanout, _) = lock.withLock {
            let made = Fanout(targets: targets, attached: attached, pooled: pooled, receiver: current.receiver)
            return (made, put(made))
        }
        wasTargeted.store(true, ordering: .releasing)
        return fanout
    }

    /// Hands the events to the subscribers of a channel from now on.
    func setReceiver(for channel: AnyEventChannel, publisher: EventPublisher) {
        func open<E: DomainEvent>(_ type: E.Type) -> any EventReceiver {
            // A channel's `eventType` is the type that it was made for.
            let channel = unsafeDowncast(channel, to: EventChannel<E>.self)
            return withCoder(of: type) { TypedReceiver(channel: channel, coder: $0, publisher: publisher) }
        }
        let receiver: any EventReceiver
        if channel.isUntyped {
            let channel = unsafeDowncast(channel, to: EventChannel<UntypedEvent>.self)
            receiver = UntypedReceiver(channel: channel, publisher: publisher)
        } else {
            receiver = open(channel.eventType)
        }
        _ = lock.withLock {
            put(
                Fanout(
                    targets: current.targets,
                    attached: current.attached,
                    pooled: current.pooled,
                    receiver: receiver
                )
            )
        }
    }

    /// Calls `body` with the coder of this type, which is made once and lives as long as this topic.
    ///
    /// At most one type has the name in a publisher; the publisher makes sure of that.
    private func withCoder<E: DomainEvent, R>(of type: E.Type, _ body: (PayloadCoder<E>) throws -> R) rethrows -> R {
        let address = coder.load(ordering: .acquiring) ?? makeCoder(of: type)
        return try Unmanaged<PayloadCoder<E>>.fromOpaque(address)._withUnsafeGuaranteedRef(body)
    }

    private func makeCoder<E: DomainEvent>(of type: E.Type) -> UnsafeRawPointer {
        // The coder is made without the lock, because the type's own code makes its layout. If two threads each make a
        // coder, the first one stays.
        let made = Unmanaged.passRetained(PayloadCoder<E>())
        let (isFirst, known) = coder.compareExchange(
            expected: nil,
            desired: UnsafeRawPointer(made.toOpaque()),
            ordering: .acquiringAndReleasing
        )
        guard !isFirst, let known else { return UnsafeRawPointer(made.toOpaque()) }
        made.release()
        return known
    }

    // MARK: - Out

    /// - Parameter fanout: the receivers of the events.
    func forward<E: DomainEvent>(
        _ event: E,
        to fanout: Fanout,
        context: EventContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        let refusal = router.refusal(of: name, context)
        // During the shutdown the bridge's reports about itself still go to the attached peers, for which the shutdown
        // does not wait, but to no worker: a worker could no longer handle them all.
        if let refusal, !router.isSelfReport(name) { return refused(refusal, context, ifFull, by: router) }
        let start = router.trace.start(of: self)
        defer { if start != 0 { router.trace.recorder.note(.publish, of: name, context, from: start) } }
        do {
            return try withCoder(of: E.self) { coder in
                try PayloadScratch.withEncoded(event, by: coder) { payload in
                    var triesAlone = true
                    if receipts == nil, held == nil, refusal == nil, router.tap == nil, let sole = fanout.sole {
                        if let sent = sole._withUnsafeGuaranteedRef({ send(payload, context, ifFull, to: $0) }) {
                            return sent
                        }
                        triesAlone = false
                    }
                    let targets =
                        refusal == nil
                        ? fanout.pooled?.targets(of: event, payload, isPublished: true) ?? fanout.targets : []
                    return forward(
                        payload,
                        context,
                        ifFull,
                        receipts,
                        to: targets,
                        fanout.attached,
                        triesAlone: triesAlone,
                        held: &held,
                        by: router
                    )
                }
            }
        } catch {
            let failure = DeliveryError(
                .notEncodable,
                of: name,
                id: context.id,
                "\(name) cannot be encoded: \(CBORError.sentence(of: error))",
                field: (error as? CBORError)?.field
            )
            return refused(failure, context, ifFull, by: router)
        }
    }

    /// Puts an event into the outbox of the only peer that gets it.
    ///
    /// - Returns: The outcome; nil if the caller has to use the method for several peers, which also reports losses.
    private func send(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ ifFull: FullOutboxAction,
        to sole: Peer
    ) -> Forwarded? {
        let sent = sole.send(context, name: self, payload: payload, ifThereIsRoom: ifFull == .wait)
        if ifFull == .drop { if case .taken? = sent { return sent } else { return nil } }
        return sent
    }

    /// - Parameter triesAlone: whether the method for one peer may be tried; false if that method has just failed.
    func forward(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ ifFull: FullOutboxAction,
        _ receipts: ReceiptLedger?,
        to targets: [Peer],
        _ everyAttached: [Peer],
        triesAlone: Bool,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        let attached = scope == .answer ? scope.requesters(context, among: everyAttached) : everyAttached
        if let tap = router.tap {
            tap(PassingEvent(name: name, context: context, payload: payload, sender: nil))
        }
        switch ifFull {
        case .wait, .fail:
            return sendToAll(
                payload,
                context: context,
                receipts: receipts,
                to: targets,
                attached: attached,
                ifThereIsRoom: ifFull == .wait,
                held: &held,
                by: router
            )
        case .drop:
            if triesAlone, receipts == nil, held == nil, let alone = Fanout.sole(among: targets, attached),
                let sent = send(payload, context, ifFull, to: alone)
            {
                return sent
            }
            let sent = send(
                payload,
                context: context,
                wantsReceipt: false,
                to: targets,
                attached: attached,
                held: &held,
                by: router
            )
            return sent.losses.first.map { .failed($0.error) } ?? .taken
        }
    }

    func refused(
        _ failure: DeliveryError,
        _ context: EventContext,
        _ ifFull: FullOutboxAction,
        by router: EventRouter
    ) -> Forwarded {
        if case .drop = ifFull {
            router.losses.add(event: name, id: context.id, link: "every link", reason: failure.description)
        }
        return .failed(failure)
    }

    var hasRoom: Bool { targets.allSatisfy { $0.hasRoom(for: name) } }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        for target in targets(of: event) { try await target.waitForRoom(for: name) }
    }

    /// The peers that will get an event; for a pool without keys, the member that would get it now.
    private func targets<E: DomainEvent>(of event: E) -> [Peer] {
        let fanout = fanout
        guard let pooled = fanout.pooled else { return fanout.targets }
        let found = try? withCoder(of: E.self) { coder in
            try PayloadScratch.withEncoded(event, by: coder) { payload in
                pooled.targets(of: event, payload, isPublished: false)
            }
        }
        // An event that cannot be encoded is refused when it is published.
        return found ?? []
    }
}

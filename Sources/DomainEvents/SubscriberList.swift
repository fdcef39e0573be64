/// The receivers of one type's events, as one immutable list; a change puts another list in its place.
///
/// The list does not know that type. The list's channel does, and adds only handlers of that type.
@usableFromInline
package final class SubscriberList: @unchecked Sendable {
    // Sendable: nothing changes after `init`; `first` points to memory that this object owns.

    /// The subscribers on the publishing thread, as uncounted references; `inline` holds them.
    @usableFromInline let first: UnsafeMutablePointer<Unmanaged<AnySubscriber>>
    @usableFromInline package let inlineCount: Int
    let inline: [AnySubscriber]
    let deferred: [DeferredSubscriber]
    let forwarders: [any EventForwarder]
    /// The forwarder that is the only receiver; nil if there are others.
    ///
    /// The publisher's own journal does not count as another receiver if it takes events at once.
    let onlyForwarder: (any EventForwarder)?
    /// Other publishers that get these events too.
    let links: [PublisherLink]

    /// The locks of the deferred subscribers, as ``StrandLocks`` numbers them.
    let lockMask: UInt32
    let needsPreparation: Bool
    /// Whether the publisher's own journal records the events.
    let isRecorded: Bool
    /// The only deferred subscriber, if it is a journal that takes events at once; nil otherwise.
    ///
    /// `deferred` holds it, so the reference is not counted.
    private let soleRecorder: Unmanaged<DeferredSubscriber>?
    /// Whether a journal of this publisher, or of a publisher that gets the events from it, may make the events safe
    /// only some time after it has recorded them.
    let isSafeLater: Bool
    /// Whether there are only handlers on the publishing thread.
    @usableFromInline let isPlain: Bool
    /// Whether there are only this publisher's own subscribers.
    @usableFromInline let isLocal: Bool

    init(
        inline: [AnySubscriber] = [],
        deferred: [DeferredSubscriber] = [],
        forwarders: [any EventForwarder] = [],
        links: [PublisherLink] = []
    ) {
        self.inline = inline
        self.deferred = deferred
        self.forwarders = forwarders
        self.links = links
        inlineCount = inline.count
        first = .allocate(capacity: max(inline.count, 1))
        for (index, subscriber) in inline.enumerated() {
            (first + index).initialize(to: .passUnretained(subscriber))
        }
        lockMask = deferred.reduce(0) { $0 | $1.lockMask }
        handlers = inline.count { $0.owner === $0.gate } + deferred.count
        needsPreparation = deferred.contains { $0.needsPreparation }
        isRecorded = deferred.contains { $0.isRecorder }
        soleRecorder = deferred.count == 1 && deferred[0].recordsAtOnce ? .passUnretained(deferred[0]) : nil
        isSafeLater = !links.isEmpty || deferred.contains { $0.laterRecorder != nil }
        isLocal = forwarders.isEmpty && links.isEmpty
        isPlain = isLocal && deferred.isEmpty
        let isForwarded =
            forwarders.count == 1 && inline.isEmpty && links.isEmpty
            && (deferred.isEmpty || isRecorded && soleRecorder != nil)
        onlyForwarder = isForwarded ? forwarders[0] : nil
    }

    deinit {
        first.deallocate()
    }

    /// Whether a run (events that a link has read together) can be handled on arrival: the only subscribers are this
    /// publisher's own handlers on the delivering thread, and at most one journal, which takes events at once.
    var takesRuns: Bool { links.isEmpty && (deferred.isEmpty ? inlineCount > 0 : soleRecorder != nil) }

    /// How many subscribers an event has: the handlers, and the journals.
    ///
    /// An inline subscriber that ends with another's subscription only calls that other one, and is no handler.
    package let handlers: Int

    /// Records an event of a run, if a journal wants it, before the event's handlers are called.
    ///
    /// - Returns: False if the journal cannot record the event as part of a run.
    package func recordInRun(_ payload: UnsafeRawBufferPointer, _ context: BorrowedContext) -> Bool {
        soleRecorder?._withUnsafeGuaranteedRef { $0.recordAtOnce(payload, context) } ?? true
    }

    var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

    var hasSubscribers: Bool { inlineCount > 0 || !deferred.isEmpty || !links.isEmpty }
    /// Whether a subscriber other than a journal gets the events.
    var hasHandlers: Bool { inlineCount > 0 || !links.isEmpty || deferred.contains { !$0.onlyRecords } }
    var isEmpty: Bool { !hasSubscribers && forwarders.isEmpty }

    func with(
        inline: [AnySubscriber]? = nil,
        deferred: [DeferredSubscriber]? = nil,
        forwarders: [any EventForwarder]? = nil,
        links: [PublisherLink]? = nil
    ) -> SubscriberList {
        SubscriberList(
            inline: inline ?? self.inline,
            deferred: deferred ?? self.deferred,
            forwarders: forwarders ?? self.forwarders,
            links: links ?? self.links
        )
    }

    /// Hands an event to ``onlyForwarder`` and to the journal, which is the only subscriber.
    ///
    /// - Returns: The outcome; nil, and nothing was done, if the forwarder cannot do this for a recorded event.
    func forwardRecorded<E: DomainEvent>(
        _ event: E,
        _ context: BorrowedContext,
        ifFull: FullOutboxAction
    ) -> Forwarded? {
        guard let soleRecorder else { return nil }
        var outcome: AppendOutcome = []
        // The forwarder is not bound to a constant, as that would retain it.
        let forwarded = onlyForwarder?.forwardRecorded(event, context: context, ifFull: ifFull) { byteCount in
            soleRecorder._withUnsafeGuaranteedRef { $0.makeRoom(for: byteCount) }
        } record: { payload, owed in
            outcome = soleRecorder._withUnsafeGuaranteedRef { $0.record(payload, context, owed: owed) }
        }
        // This comes after the forwarding: the handlers of a failure's report may take any time, or wait for an answer.
        if !outcome.isEmpty { soleRecorder._withUnsafeGuaranteedRef { $0.settle(outcome) } }
        return forwarded
    }

    /// Puts an event that no caller waits for into the strands of this publisher's subscribers.
    @usableFromInline
    func post(_ event: RawEvent, from publisher: EventPublisher, on thread: DeliveryThread) {
        post(event, publisher.stamp(causedBy: EventContext.handledByTask), from: publisher, on: thread)
    }

    func post(_ event: RawEvent, _ stamp: EventStamp, from publisher: EventPublisher, on thread: DeliveryThread) {
        // The strands get this stamp first, so the inline handlers must see the same context.
        if inlineCount > 0 { thread.context = stamp.context(of: publisher.source) }
        if let soleRecorder {
            soleRecorder._withUnsafeGuaranteedRef { $0.record(event, stamp) }
        } else {
            deferred.post(event, stamp, nil, lockMask: lockMask, needsPreparation ? deferred.prepare(event) : .nothing)
        }
    }
}

/// Another publisher that also gets this publisher's events, as long as that other publisher lives.
final class PublisherLink: Sendable {
    let gate: CallGate
    private weak let target: EventPublisher?

    init(to target: EventPublisher, gate: CallGate) {
        self.target = target
        self.gate = gate
    }

    var publisher: EventPublisher? { gate.isClosed ? nil : target }
}

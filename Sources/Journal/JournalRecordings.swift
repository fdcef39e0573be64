import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// The types and names that a journal records from publishers until it is closed.
final class JournalRecordings: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let core: JournalCore
    private let lock = Lock()
    private var subscriptions: [Subscription] = []
    private var watches: [NameWatch] = []
    /// The names that are recorded from each publisher; recording one again would give each event a second position.
    private var recorded = WeakTable<EventPublisher, Set<EventName>>()
    private var hasEnded = false

    init(_ core: JournalCore) {
        self.core = core
    }

    func record<E: DomainEvent>(_ type: E.Type, of publisher: EventPublisher, at site: SubscriptionSite) {
        if lock.withLock({ hasEnded }) { return }
        record(publisher.channel(of: type), of: publisher, at: site)
    }

    func record(named names: some Sequence<String>, of publisher: EventPublisher, at site: SubscriptionSite) {
        let names = EventName.set(names)
        let watch = NameWatch(names, publisher: publisher) { [weak self] channel, publisher in
            self?.record(channel, of: publisher, at: site)
        }
        let isLate = lock.withLock {
            if !hasEnded { watches.append(watch) }
            return hasEnded
        }
        guard !isLate else { return }
        offer(to: publisher)
        publisher.addInterestObserver(watch)
        // `end()` may have run before the observer was added; it then has not removed the observer.
        if lock.withLock({ hasEnded }) { watch.end() }
    }

    /// Records the events of this channel from now on, unless they are recorded already or the recording has ended.
    ///
    /// Every event after the return is recorded, even if another thread calls this for the same channel meanwhile.
    private func record(_ channel: AnyEventChannel, of publisher: EventPublisher, at site: SubscriptionSite) {
        let name = EventName(channel.name)
        offer(to: publisher)
        guard isMissing(name, of: publisher) else { return }
        // This asks the type for its layout. That is code of the program, which may take any time, or publish, so this
        // thread holds no lock here. Other threads may make a subscriber as well; only one of the subscribers is added.
        let pending = channel.makeRecording(by: core, at: site, publisher: publisher)
        let (unused, living): ([AnyObject]?, [EventPublisher]) = lock.withLock {
            let living = recorded.removeDead().living
            guard isNew(name, of: publisher) else { return (nil, living) }
            let (subscription, unused) = pending.begin()
            subscriptions.append(subscription)
            return (unused, living)
        }
        // These may be the last references to publishers and handlers, so they are released without the lock.
        withExtendedLifetime((unused, living)) {}
        guard unused != nil else { return }
        // Another thread may have made the journal the publisher's own since the subscriber was made.
        if publisher.recording.isKept(by: core) { channel.keepCustody(by: core) }
        pending.announce()
    }

    /// Makes the journal the publisher's own, unless another one is that; if it takes the place of another one, it
    /// keeps custody of the events that it records already, too.
    private func offer(to publisher: EventPublisher) {
        // Each watch refers to its publisher for a moment, which may be the last reference: so not with the lock held.
        let watches = lock.withLock { self.watches }
        let awaited = watches.reduce(into: Set<EventName>()) { $0.formUnion($1.names(of: publisher)) }
        guard publisher.recording.offer(core, awaiting: awaited) else { return }
        let recorded = lock.withLock { self.recorded[ObjectIdentifier(publisher)]?.value ?? [] }
        for name in recorded { publisher.channel(named: name.text)?.keepCustody(by: core) }
    }

    /// Whether this name is not recorded yet, and still may be.
    private func isMissing(_ name: EventName, of publisher: EventPublisher) -> Bool {
        lock.withLock { !hasEnded && recorded[ObjectIdentifier(publisher)]?.value.contains(name) != true }
    }

    /// Marks this name as recorded; returns false if it was marked before, or if the recording has ended.
    ///
    /// Called with `lock` held.
    private func isNew(_ name: EventName, of publisher: EventPublisher) -> Bool {
        guard !hasEnded else { return false }
        let key = ObjectIdentifier(publisher)
        // The set is taken out, so that the insertion of the name does not copy it.
        var names = recorded.remove(key) ?? []
        let isNew = names.insert(name).inserted
        recorded.insert(publisher, names, for: key)
        return isNew
    }

    func end() {
        let (subscriptions, watches) = lock.withLock {
            hasEnded = true
            defer { (self.subscriptions, self.watches) = ([], []) }
            return (self.subscriptions, self.watches)
        }
        for watch in watches { watch.end() }
        for subscription in subscriptions { subscription.cancel() }
    }
}

/// Starts the recording of each type that has one of the given names, once this process uses the type.
private final class NameWatch: InterestObserver {
    private let names: Set<EventName>
    private weak let publisher: EventPublisher?
    private let record: @Sendable (AnyEventChannel, EventPublisher) -> Void

    init(
        _ names: Set<EventName>,
        publisher: EventPublisher,
        record: @escaping @Sendable (AnyEventChannel, EventPublisher) -> Void
    ) {
        self.names = names
        self.publisher = publisher
        self.record = record
    }

    var isBridge: Bool { false }

    /// The names, if they are recorded from this publisher.
    func names(of publisher: EventPublisher) -> Set<EventName> { self.publisher === publisher ? names : [] }

    func interestMayHaveChanged(in name: String) {}

    func channelWasMade(_ channel: AnyEventChannel) {
        guard let publisher, !channel.eventType._isSelfReport else { return }
        // Two threads may report the same channel at once. Both publish an event after this call, so it returns to
        // neither of them before the channel's events are recorded.
        if names.contains(EventName(channel.name)) { record(channel, publisher) }
    }

    func end() { publisher?.removeInterestObserver(self) }
}

extension JournalCore: EventRecording {
    func encoder<E: DomainEvent>(of type: E.Type) -> @Sendable (E, CBORBuffer) throws -> Void {
        let coder = PayloadCoder<E>()
        let path = path
        return { event, buffer in
            do {
                try PayloadEncoder.encode(event, into: buffer, by: coder)
            } catch {
                let why = (error as? CBORError).map(CBORError.sentence) ?? "\(error)"
                throw JournalError(
                    .notRecordable,
                    "\(E.eventName) is not in the journal \(path), as it cannot be encoded: \(why)"
                )
            }
        }
    }

    func line(named name: String) -> any RecordingLine { JournalLine(name, of: self) }

    func wasRecorded() { wakeReaders() }

    var isOver: Bool { lock.withLock { state.isOver } }

    var isSafeAtOnce: Bool { if case .process = settings.durability { true } else { false } }
}

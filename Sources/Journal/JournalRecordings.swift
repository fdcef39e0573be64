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
        guard isNew(EventName(E.eventName), of: publisher) else { return }
        publisher.recording.offer(core)
        keep(publisher.record(type, by: core, at: site))
    }

    /// Notes that this name is recorded; false if this was noted before, or if the recording has ended.
    private func isNew(_ name: EventName, of publisher: EventPublisher) -> Bool {
        let (isNew, living): (Bool, [EventPublisher]) = lock.withLock {
            let living = recorded.removeDead().living
            guard !hasEnded else { return (false, living) }
            let key = ObjectIdentifier(publisher)
            // Taken out, the set is not copied when the name goes into it.
            var names = recorded.remove(key) ?? []
            let isNew = names.insert(name).inserted
            recorded.insert(publisher, names, for: key)
            return (isNew, living)
        }
        // These may be the last references to publishers and their handlers, so they are released without the lock.
        withExtendedLifetime(living) {}
        return isNew
    }

    func record(named names: some Sequence<String>, of publisher: EventPublisher, at site: SubscriptionSite) {
        let watch = NameWatch(EventName.set(names), publisher: publisher) { [weak self] channel, publisher in
            guard let self, self.isNew(EventName(channel.name), of: publisher) else { return }
            self.keep(channel.record(by: self.core, at: site, publisher: publisher))
        }
        let isLate = lock.withLock {
            if !hasEnded { watches.append(watch) }
            return hasEnded
        }
        guard !isLate else { return }
        publisher.recording.offer(core)
        publisher.addInterestObserver(watch)
        // `end()` may have run before the observer was added; it then has not removed the observer.
        if lock.withLock({ hasEnded }) { watch.end() }
    }

    private func keep(_ subscription: Subscription) {
        let isLate = lock.withLock {
            if !hasEnded { subscriptions.append(subscription) }
            return hasEnded
        }
        if isLate { subscription.cancel() }
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

/// Has each type with one of some names recorded, once this process uses the type.
private final class NameWatch: InterestObserver, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var names: Set<EventName>
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

    func interestMayHaveChanged(in name: String) {}

    func channelWasMade(_ channel: AnyEventChannel) {
        guard let publisher, !(channel.eventType is any SelfReport.Type) else { return }
        // Two threads may report the same channel.
        guard lock.withLock({ names.remove(EventName(channel.name)) }) != nil else { return }
        record(channel, publisher)
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

    var isSafeAtOnce: Bool { if case .process = settings.durability { true } else { false } }
}

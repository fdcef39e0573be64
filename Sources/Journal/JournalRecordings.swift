import BridgeProtocol
import DomainEvents
import Locks

/// What a journal records of which publishers, until it is closed.
final class JournalRecordings: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let core: JournalCore
    private let lock = Lock()
    private var subscriptions: [Subscription] = []
    private var watches: [NameWatch] = []
    private var hasEnded = false

    init(_ core: JournalCore) {
        self.core = core
    }

    func record<E: DomainEvent>(_ type: E.Type, of publisher: EventPublisher, at site: SubscriptionSite) {
        keep(publisher.record(type, by: core, at: site))
    }

    func record(named names: Set<String>, of publisher: EventPublisher, at site: SubscriptionSite) {
        let watch = NameWatch(EventName.set(names), publisher: publisher) { [weak self, core] channel, publisher in
            let subscription = channel.record(by: core, at: site, publisher: publisher)
            if let self { self.keep(subscription) } else { subscription.cancel() }
        }
        let isLate = lock.withLock {
            if !hasEnded { watches.append(watch) }
            return hasEnded
        }
        if !isLate { publisher.addInterestObserver(watch) }
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

/// Waits for the types of some names.
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
        // Two threads may tell of the same channel.
        guard lock.withLock({ names.remove(EventName(channel.name)) }) != nil else { return }
        record(channel, publisher)
    }

    func end() { publisher?.removeInterestObserver(self) }
}

extension JournalCore: EventRecording {
    func encoder<E: DomainEvent>(of type: E.Type) -> @Sendable (E) throws -> [UInt8] {
        let coder = PayloadCoder<E>()
        return { event in try PayloadEncoder.encode(event, by: coder) }
    }

    func record(
        _ payload: [UInt8],
        name: String,
        context: EventContext,
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws -> Bool {
        try append(payload, name: name, context: context, whenSettled: whenSettled)
    }

    func wasRecorded() { wakeReaders() }
}

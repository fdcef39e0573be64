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
        current = Fanout(targets: [], attached: [], pooled: nil, receiver: nil, soleOwed: [])
        address = Atomic(current.address)
    }

    deinit {
        if let coder = coder.load(ordering: .acquiring) { Unmanaged<AnyObject>.fromOpaque(coder).release() }
    }

    var fanout: Fanout { lock.withLock { current } }

    /// Whether these receivers, to which the caller holds a reference, are the present ones.
    func isCurrent(_ fanout: Fanout) -> Bool { address.load(ordering: .acquiring) == fanout.address }

    /// Puts other receivers in the place of the present ones; called under `lock`.
    ///
    /// - Returns: The former receivers, which the caller releases without the lock. If they were released while
    ///   `address` is still theirs, another topic's receivers could be made at that address. ``isCurrent(_:)`` would
    ///   take those for the receivers of this topic.
    func put(_ fanout: Fanout) -> Fanout {
        let former = current
        current = fanout
        address.store(fanout.address, ordering: .releasing)
        return former
    }

    /// Whether publishers of the events need not wait.
    var hasRoom: Bool { targets.allSatisfy { $0.hasRoom(for: name) } }

    var targets: [Peer] { fanout.targets }

    /// Whether ``setTargets(_:among:isSelfReport:reports:)`` has been called.
    var hasTargets: Bool { wasTargeted.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - wanting: the peers that want the events.
    ///   - peers: all peers of the router.
    /// - Returns: The peers that get the events from now on.
    func setTargets(
        _ wanting: [Peer],
        among peers: [Peer],
        isSelfReport: Bool,
        reports: ReportStrand
    ) -> Fanout {
        let targets = wanting.filter { !$0.isAttached }
        let attached = wanting.filter(\.isAttached)
        let pooled = PooledTargets(targets, among: peers, name: name, isSelfReport: isSelfReport, reports: reports)
        let soleOwed = targets.count == 1 && pooled == nil ? [targets[0].owed(name)] : []
        let (fanout, _) = lock.withLock {
            let made = Fanout(
                targets: targets,
                attached: attached,
                pooled: pooled,
                receiver: current.receiver,
                soleOwed: soleOwed
            )
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
            let coder = coder(of: type).takeUnretainedValue()
            return ChannelReceiver(channel: channel, coder: coder, publisher: publisher)
        }
        let receiver = open(channel.eventType)
        _ = lock.withLock {
            put(
                Fanout(
                    targets: current.targets,
                    attached: current.attached,
                    pooled: current.pooled,
                    receiver: receiver,
                    soleOwed: current.soleOwed
                )
            )
        }
    }

    /// The coder of this type, which is made once and lives as long as this topic.
    ///
    /// At most one type has the name in a publisher; the publisher makes sure of that. `UntypedEvent` counts as a type.
    func coder<E: DomainEvent>(of type: E.Type) -> Unmanaged<PayloadCoder<E>> {
        .fromOpaque(coder.load(ordering: .acquiring) ?? makeCoder(of: type))
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
}

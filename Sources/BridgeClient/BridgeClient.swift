import BridgePlatform
package import BridgeProtocol
public import DomainEvents
package import EventRouting

/// Attaches a process to a running host that has not started it: a second frontend, a tool, a monitor.
///
/// ```swift
/// let publisher = EventPublisher()
/// let shown = showBoxes(of: publisher)
/// let client = try await BridgeClient.connect(to: "run/supervisor.sock", publisher: publisher)
/// publisher.publish(BoxOrdered(label: "Books"))          // reaches the host and its workers
/// await client.close()
/// ```
///
/// An event that this process publishes reaches all subscribers to it in the host, its workers and its other clients,
/// and the other way round. Order, causes, `send`, `deliver` and `request` are the same as in the host. Each client has
/// its own interest and its own outbox in the host.
///
/// No supervisor watches a client, and nothing waits for it: a client that reads too slowly gets gaps, and a client
/// that goes away is forgotten. When the host goes away, the client tries to attach again, with pauses of 5 s at most.
/// It gives up if a host rejects it, or if neither this user nor root serves the socket. On the publisher, ``HostLost``
/// reports the end of the link, and ``HostRegained`` the new link and which events the client may have missed.
///
/// Inline handlers of events from the host run on a thread of the link; other handlers run where their subscription
/// says. Any thread may use all members.
public final class BridgeClient: Sendable {
    let core: ClientCore

    private init(_ core: ClientCore) {
        self.core = core
    }

    deinit {
        core.abandon()
    }

    /// Connects to the control socket of a host; returns when the host has accepted the client and said which events
    /// the host wants.
    ///
    /// Before this returns, the client asks the host for all events that its publisher had subscribers for at the call.
    /// - Parameters:
    ///   - path: the socket's path, from the working directory if it does not begin with a slash.
    ///   - publisher: the publisher whose events the client carries; at most one client at a time may use it.
    ///   - name: what the client calls itself, for people; the host gives the client another name.
    /// - Throws: ``BridgeClientError``. A first connection that fails is not tried again.
    public static func connect(
        to path: String,
        publisher: EventPublisher,
        name: String = "client"
    ) async throws -> BridgeClient {
        try await connect(to: path, publisher: publisher, name: name, wantsEverything: false, tap: nil, gapTap: nil)
    }

    /// - Parameters:
    ///   - wantsEverything: whether the client asks for all events except reports of the bridge about itself.
    ///   - watchedNames: names of further events, or reports, that the client asks for even without a subscriber.
    ///   - way: connects to the host; nil for the socket at `path`.
    ///   - tap: sees every event that passes; nil if no caller watches.
    ///   - gapTap: called for events that did not come, at the place where they would have come.
    package static func connect(
        to path: String,
        publisher: EventPublisher,
        name: String,
        wantsEverything: Bool,
        watchedNames: Set<EventName> = [],
        way: (any WayToHost)? = nil,
        tap: (@Sendable (PassingEvent) -> Void)?,
        gapTap: (@Sendable (Gap) -> Void)?
    ) async throws -> BridgeClient {
        let core: ClientCore
        do {
            core = try ClientCore(
                path: path,
                publisher: publisher,
                title: name,
                wantsEverything: wantsEverything,
                watchedNames: watchedNames,
                way: way,
                tap: tap,
                gapTap: gapTap
            )
        } catch {
            throw BridgeClientError(.system, "a client cannot be made: \(error)")
        }
        do {
            try await core.connect()
        } catch {
            core.abandon()
            throw error
        }
        return BridgeClient(core)
    }

    /// The host's name for this client, such as `client-3`; nil while the client is not attached.
    ///
    /// The name may change when the client attaches again.
    public var name: String? { core.name }

    /// Whether the host has accepted this client and the link has not ended.
    public var isAttached: Bool { core.name != nil }

    /// The names of all events that the host has asked for by name, for itself and its other peers, in order.
    package var namesWantedByHost: [String] { core.namesWantedByHost }

    /// The identity by which other processes know an event of this process; nil without a link to the host.
    package func idElsewhere(of id: EventID) -> EventID? { core.idElsewhere(of: id) }

    /// Publishes an event of a type that this process does not know, from its encoded form, and waits as
    /// `EventPublisher.deliver` does.
    ///
    /// - Parameter context: a context that this client's publisher has made for the event; nil for an event without a
    ///   cause.
    package func deliver(
        name: String,
        payload: [UInt8],
        context: EventContext? = nil,
        within limit: Duration
    ) async throws -> DeliveryReceipt {
        try await core.deliver(name: name, payload: payload, context: context, within: limit)
    }

    /// Lets events that are on their way arrive, says goodbye, and returns when the link has ended.
    ///
    /// Afterwards the client carries no events.
    ///
    /// - Parameter limit: how long this waits at most for events that are on their way.
    public func close(drainingWithin limit: Duration = .seconds(2)) async {
        await core.close(within: limit)
    }
}

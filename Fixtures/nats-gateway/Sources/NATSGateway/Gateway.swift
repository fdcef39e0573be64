import Dispatch
import Synchronization

/// Connects a node's host with the broker: carries the node's events to its stream, and events of other nodes to the
/// host.
///
/// A gateway serves until ``stop()``, even if no reference to it is left.
public final class Gateway: Sendable {
    let configuration: GatewayConfiguration
    private let connection: NATSConnection
    /// Brings the messages of imported streams; questions about them go over ``connection``.
    private let messages: MessageReader
    private let exporter: Exporter?
    private let importers: [Importer]
    private let feed: HostFeed
    private let report: @Sendable (GatewayReport) -> Void
    /// The queue for changes of the connection; it may wait for a look whether another gateway serves this node.
    private let changes = DispatchQueue(label: "nats-gateway.changes")
    private let presence: Presence
    private let reach = Mutex(Reach())

    /// What the importers need.
    private struct Reach {
        /// Whether this gateway serves its node, and is connected.
        var isServed = false
        /// Whether the messages of imported streams can come.
        var isReading = false
        /// Why there is no connection to read, as it was reported last.
        var trouble: String?

        var isWhole: Bool { isServed && isReading }
    }

    /// Begins to serve, and waits for a broker that is away.
    ///
    /// - Parameters:
    ///   - owner: names what runs this gateway. A gateway waits until an earlier one of the same owner has ended; if
    ///     one of another owner stays, the later gateway ends.
    ///   - places: the places that the host keeps, in the bookmarks of the imported events; nil if it keeps none.
    ///   - publish: gives an event to the host, and returns when the host has it or never will.
    ///   - report: is called from any thread.
    ///   - settled: is called once, from any thread, when it is known that this gateway may serve its node, now or when
    ///     the gateway before it has ended.
    /// - Throws: ``NATSError`` if there is no memory.
    public init(
        _ configuration: GatewayConfiguration,
        owner: String,
        places: ImportPlaces? = nil,
        publish: @escaping @Sendable (ImportedEvent) async -> Custody,
        report: @escaping @Sendable (GatewayReport) -> Void,
        settled: @escaping @Sendable () -> Void = {}
    ) throws {
        self.configuration = configuration
        self.report = report
        let node = configuration.node
        let settings = NATSSettings(
            url: configuration.url,
            credentials: configuration.credentials,
            name: "nats-gateway \(node)",
            answerTime: configuration.answerTime
        )
        // Only exported events come so close together that writing several at once pays off.
        connection = try NATSConnection(settings, writesAtOnce: configuration.exports.isEmpty)
        messages = MessageReader(settings)
        presence = Presence(of: node, owner: owner, over: connection, settled: settled)
        exporter =
            configuration.exports.isEmpty
            ? nil
            : try Exporter(
                node: node,
                connection: connection,
                limits: .init(bytes: configuration.streamBytes, age: configuration.streamHours),
                window: configuration.window,
                report: report
            )
        feed = HostFeed(places: places, publish: publish, report: report)
        importers = configuration.imports.map { [connection, messages, feed] other, names in
            Importer(
                node: other,
                names: names,
                reader: node,
                window: configuration.window,
                keepingTime: configuration.keepingTime,
                connection: connection,
                messages: messages,
                places: places,
                feed: feed,
                report: report
            )
        }
        connection.open(on: changes) { self.pass($0) }
    }

    /// Carries an event of the configured names to the broker; one call at a time.
    ///
    /// The call may wait until the broker has stored the event, or for the time that an answer may take.
    public func export(_ event: ExportedEvent) { exporter?.export(event) }

    /// Ends the connection.
    ///
    /// An event that is not settled by then comes again at the next start, if this process ends too. If the process
    /// lives on and releases the event, the host counts the event as refused.
    public func stop() {
        exporter?.stop()
        for importer in importers { importer.stop() }
        feed.stop()
        messages.close()
        connection.close()
    }

    private func pass(_ change: ConnectionChange) {
        changes.async { [self] in
            switch change {
            case .connected:
                presence.isConnected = true
                serve()
            case .failed(let reason): report(.note("there is no connection to the broker: \(reason)"))
            case .disconnected:
                presence.isConnected = false
                exporter?.change(isConnected: false)
                tellImporters { $0.isServed = false }
            case .closed(let reason): report(.end("the connection to the broker is closed: \(reason)"))
            }
        }
    }

    /// Begins to serve, or looks again soon.
    private func serve() {
        switch presence.look() {
        case .served:
            // The gateway before this one has gone on meanwhile; the broker knows how far it came.
            if presence.endsEncounter() {
                feed.awaitPlaces(in: configuration.imports.keys)
                for importer in importers { importer.overtake() }
            }
            exporter?.change(isConnected: true)
            tellImporters { $0.isServed = true }
            if !importers.isEmpty { messages.open { self.passReading($0) } }
        case .waits(let sentence):
            if let sentence { report(.note(sentence)) }
            changes.asyncAfter(deadline: .now() + Presence.pause) { [self] in
                if presence.isConnected { serve() }
            }
        case .fenced(let reason): report(.end(reason))
        }
    }

    private func passReading(_ change: ConnectionChange) {
        changes.async { [self] in
            switch change {
            case .connected: tellImporters { ($0.isReading, $0.trouble) = (true, nil) }
            case .failed(let reason):
                // If the broker is away, the other connection reports it.
                guard presence.isConnected else { return }
                let isNews = reach.withLock { reach in
                    defer { reach.trouble = reason }
                    return reach.trouble != reason
                }
                if isNews { report(.note("there is no connection to read from the broker: \(reason)")) }
            case .disconnected: tellImporters { $0.isReading = false }
            case .closed(let reason): report(.end("the connection to the broker is closed: \(reason)"))
            }
        }
    }

    /// Tells the importers if they can work again, or cannot any more; on the queue for changes.
    private func tellImporters(_ change: (inout Reach) -> Void) {
        let (before, after) = reach.withLock { reach in
            let before = reach.isWhole
            change(&reach)
            return (before, reach.isWhole)
        }
        guard before != after else { return }
        for importer in importers { importer.change(isConnected: after) }
    }
}

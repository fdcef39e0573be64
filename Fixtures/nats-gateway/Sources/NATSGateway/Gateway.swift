public import Dispatch

/// Connects a node's host with the broker: carries the node's events to its stream, and events of other nodes to the
/// host.
///
/// A gateway serves until ``stop()``, even if no reference to it is left.
public final class Gateway: Sendable {
    let configuration: GatewayConfiguration
    /// The queue on which `export` should be called: then an event waits for no other thread.
    ///
    /// The queue is blocked while a request waits for the broker's answer; a single event is sent as a request.
    public let exportQueue = DispatchQueue(label: "nats-gateway.export")
    private let connection: NATSConnection
    private let exporter: Exporter?
    private let importers: [Importer]
    private let feed: HostFeed
    private let report: @Sendable (GatewayReport) -> Void
    /// The queue for changes of the connection; it may wait for a look whether another gateway serves this node.
    private let changes = DispatchQueue(label: "nats-gateway.changes")
    private let presence: Presence

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
        connection = try NATSConnection(
            url: configuration.url,
            credentials: configuration.credentials,
            name: "nats-gateway \(node)",
            // Only exported events come so close together that writing several at once pays off.
            writesAtOnce: configuration.exports.isEmpty,
            answerTime: configuration.answerTime
        )
        presence = Presence(of: node, owner: owner, over: connection, settled: settled)
        exporter =
            configuration.exports.isEmpty
            ? nil
            : try Exporter(
                node: node,
                connection: connection,
                limits: .init(bytes: configuration.streamBytes, age: configuration.streamHours),
                window: configuration.window,
                queue: exportQueue,
                report: report
            )
        feed = HostFeed(places: places, publish: publish, report: report)
        importers = try configuration.imports.map { [connection, feed] other, names in
            try Importer(
                node: other,
                names: names,
                reader: node,
                window: configuration.window,
                keepingTime: configuration.keepingTime,
                connection: connection,
                places: places,
                feed: feed,
                report: report
            )
        }
        connection.open(on: changes) { self.pass($0) }
    }

    /// Carries an event of the configured names to the broker.
    public func export(_ event: ExportedEvent) { exporter?.export(event) }

    /// Ends the connection.
    ///
    /// An event that is not settled by then comes again at the next start, if this process ends too. If the process
    /// lives on and releases the event, the host counts the event as refused.
    public func stop() {
        exporter?.stop()
        for importer in importers { importer.stop() }
        feed.stop()
        connection.close()
    }

    private func pass(_ change: NATSConnection.Change) {
        changes.async { [self] in
            switch change {
            case .connected:
                presence.isConnected = true
                serve()
            case .failed(let reason): report(.note("there is no connection to the broker: \(reason)"))
            case .disconnected:
                presence.isConnected = false
                tellAll(isConnected: false)
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
            tellAll(isConnected: true)
        case .waits(let sentence):
            if let sentence { report(.note(sentence)) }
            changes.asyncAfter(deadline: .now() + Presence.pause) { [self] in
                if presence.isConnected { serve() }
            }
        case .fenced(let reason): report(.end(reason))
        }
    }

    private func tellAll(isConnected: Bool) {
        exporter?.change(isConnected: isConnected)
        for importer in importers { importer.change(isConnected: isConnected) }
    }
}

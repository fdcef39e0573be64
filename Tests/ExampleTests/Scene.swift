import DomainEvents
import ExampleDomain
import ExampleServices
import FoundationEssentials

/// A directory of its own, removed with the object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        let name = "event-bridge-\(UInt64.random(in: 1 ... .max))"
        let url = FileManager.default.temporaryDirectory.appending(path: name, directoryHint: .isDirectory)
        path = url.path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func path(_ name: String) -> String { path.hasSuffix("/") ? path + name : "\(path)/\(name)" }

    func content(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path(name)).map { Array($0) }
    }

    func text(_ name: String) -> String? {
        content(name).map { String(decoding: $0, as: UTF8.self) }
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path(name)))
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

/// Provisioning in this process, on a store of its own, with everything it answers.
final class Scene: Sendable {
    let publisher: EventPublisher
    let recorder: Recorder
    let directory: TemporaryDirectory
    let store: String
    private let subscriptions: [Subscription]

    static let storeName = "boxes.json"

    /// - Parameter directory: the directory with the store of an earlier scene.
    init(in directory: TemporaryDirectory? = nil) throws {
        publisher = EventPublisher()
        recorder = Recorder(publisher)
        self.directory = try directory ?? TemporaryDirectory()
        store = self.directory.path(Self.storeName)
        subscriptions = try Provisioning.start(publisher: publisher, store: store)
    }

    func publish<E: DomainEvent>(_ event: E) -> [any DomainEvent] {
        publisher.publish(event)
        return recorder.take()
    }

    /// Hands in an event as a link does.
    func deliver<E: DomainEvent>(_ event: E, id: EventID, settledBelow: UInt64? = nil) -> [any DomainEvent] {
        let context = EventContext(id: id, nanosecondsSinceEpoch: 0, settledBelow: settledBelow)
        _ = publisher.channel(of: E.self)
            .deliverIncoming(
                payload: nil,
                { event },
                context: context,
                from: publisher,
                passOn: { _ in true },
                completion: { _ in NoWaiter() }
            )
        return recorder.take()
    }

    func box(_ id: Int64, capacity: Int = 5) {
        _ = publish(BoxOrdered(label: "Box \(id)", capacity: capacity, boxID: BoxID(id)))
    }

    func items(_ ids: ClosedRange<Int64>) {
        for id in ids { _ = publish(ItemReceived(title: "Item \(id)", itemID: ItemID(id))) }
    }
}

private final class NoWaiter: HandlingCompletion {
    func handlersReturned(failure: ThrownError?) {}
}

/// The repository's own sample files.
enum Sample {
    static func content(_ name: String) throws -> [UInt8] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return Array(try Data(contentsOf: root.appending(path: "Fixtures/\(name)")))
    }
}

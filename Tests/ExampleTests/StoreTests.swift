import DomainEvents
import ExampleDomain
import ExampleServices
import FoundationEssentials
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("The store keeps what was answered, and nothing else")
struct StoreTests {
    @Test("Boxes and items are there after a restart, with every bit of their ids")
    func reloads() throws {
        let id = Int64(1) << 53 + 1
        let scene = try Scene()
        scene.box(id)
        scene.items(.max ... .max)
        let successor = try Scene(in: scene.directory)
        let answer = successor.publish(ItemRemovalRequested(itemID: ItemID(.max), boxID: BoxID(id))).first
        #expect(answer is ItemRemoved)
    }

    @Test("A process that was started beside the one before it goes on with all that this one had saved at its end")
    func replacement() throws {
        let old = try Scene()
        old.box(1)
        let new = try Scene(in: old.directory)
        // The old process goes on until the new one begins, with its first request.
        old.box(2)
        new.box(3)
        let next = try Scene(in: old.directory)
        for id in 1...3 as ClosedRange<Int64> {
            #expect(next.publish(BoxRemovalRequested(boxID: BoxID(id))).first is BoxRemoved, "box \(id)")
        }
    }

    @Test("A store that is damaged between the start and the first request is left as it is, and the request fails")
    func damagedBeforeFirstRequest() throws {
        let scene = try Scene()
        try scene.directory.write("not JSON", to: Scene.storeName)
        let id = EventID(origin: "host", incarnation: 1, number: 1)
        let order = BoxOrdered(label: "Books", capacity: 5)
        let failure = try #require(scene.deliver(order, id: id).first as? BoxProvisioningFailed)
        #expect(failure.reason.hasPrefix("the store could not be loaded: "))
        #expect(failure.reason.contains("is corrupt: "))
        #expect(scene.directory.text(Scene.storeName) == "not JSON")
        try FileManager.default.removeItem(atPath: scene.store)
        #expect(scene.deliver(order, id: id).first is BoxProvisioned)
    }

    @Test("An answer goes out when its effect is already in the file")
    func publishesAfterSaving() throws {
        let scene = try Scene()
        // Subscribers always get the answer when the request's handler has returned; a link to another process does not
        // wait for that.
        let link = SpyingLink(scene.directory)
        scene.publisher.setForwarding(of: BoxProvisioned.eventName, by: link, to: link)
        _ = scene.publish(BoxOrdered(label: "Books", capacity: 5))
        #expect(link.wasSaved == true)
    }

    @Test("No file is left but the store")
    func leavesNothingElse() throws {
        let scene = try Scene()
        scene.box(1)
        #expect(try scene.directory.names == [Scene.storeName])
    }

    @Test("Directories that lead to the store are made")
    func makesDirectories() throws {
        let directory = try TemporaryDirectory()
        let publisher = EventPublisher()
        let recorder = Recorder(publisher)
        let subscriptions = try Provisioning.start(publisher: publisher, store: directory.path("a/b/boxes.json"))
        publisher.publish(BoxOrdered(label: "Books", capacity: 5))
        #expect(recorder.names == ["BoxProvisioned"])
        #expect(directory.content("a/b/boxes.json") != nil)
        withExtendedLifetime(subscriptions) {}
    }

    @Test(
        "A store that cannot be understood is refused with a reason and left as it is",
        arguments: [
            ("", ""),
            ("not JSON", ""),
            (#"{"handled":{"records":[]},"version":1}"#, #""warehouse" is missing"#),
            (
                #"{"handled":{"records":[]},"version":2,"warehouse":{"boxes":[]}}"#,
                "version 2; this program reads version 1"
            ),
            (#"{"handled":{"records":[]},"version":1,"warehouse":{"boxes":[{"id":"x"}]}}"#, "warehouse.boxes.0.id"),
            (Self.store(boxes: Self.box(1) + "," + Self.box(1)), "two boxes have the same id"),
            (Self.store(boxes: Self.box(0)), "box 0 has an id that is not positive"),
            (Self.store(boxes: Self.box(1, capacity: 6)), "box 1 has a capacity of 6"),
            (Self.store(boxes: Self.box(1, items: [1, 1])), "two items have the same id"),
            (Self.store(boxes: Self.box(1, items: Array(1...6))), "box 1 holds 6 items and has a capacity of 5"),
        ]
    )
    func refusesCorruptStore(content: String, reason: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write(content, to: Scene.storeName)
        let error = #expect(throws: FileError.self) { _ = try Scene(in: directory) }
        let text = try #require(error).description
        #expect(text.contains(Scene.storeName))
        #expect(text.contains("corrupt: "))
        #expect(text.contains(reason))
        #expect(directory.text(Scene.storeName) == content)
    }

    @Test(
        "A path that names no file, or leads through a file, is refused",
        arguments: ["", "boxes/", "file/boxes.json"]
    )
    func refusesPath(name: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write("", to: "file")
        let path = name.isEmpty ? "" : directory.path(name)
        #expect(throws: FileError.self) { _ = try Provisioning.start(publisher: EventPublisher(), store: path) }
    }

    @Test("What cannot be saved is answered with a failure and has not happened; the old file is untouched")
    func reportsFailedSave() throws {
        let scene = try Scene()
        scene.box(1)
        let before = scene.directory.text(Scene.storeName)
        // A directory has the name of the temporary file: not even root can write to a directory.
        let obstacle = scene.directory.path(".\(Scene.storeName).new")
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)

        let box = scene.publish(BoxOrdered(label: "Tools", capacity: 5, boxID: BoxID(2)))
        #expect((box.first as? BoxProvisioningFailed)?.reason.hasPrefix("it could not be saved: ") == true)
        #expect(
            scene.publish(ItemReceived(title: "Atlas")).map { type(of: $0).eventName } == ["ItemDistributionFailed"]
        )
        #expect(
            scene.publish(BoxRemovalRequested(boxID: BoxID(1))).map { type(of: $0).eventName } == ["BoxRemovalFailed"]
        )
        // A refusal keeps its own reason.
        let piano = scene.publish(BoxOrdered(label: "Piano", capacity: 7)).first as? BoxProvisioningFailed
        #expect(piano?.reason.hasPrefix("a box holds") == true)
        #expect(scene.directory.text(Scene.storeName) == before)

        try FileManager.default.removeItem(atPath: obstacle)
        #expect(scene.publish(BoxOrdered(label: "Tools", capacity: 5, boxID: BoxID(2))).first is BoxProvisioned)
        let item = scene.publish(ItemReceived(title: "Atlas")).first as? ItemProvisioned
        #expect(item?.boxID == BoxID(1))
    }

    @Test("What could not be saved is tried again when it comes again")
    func triesAgain() throws {
        let scene = try Scene()
        let obstacle = scene.directory.path(".\(Scene.storeName).new")
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        let id = EventID(origin: "host", incarnation: 1, number: 1)
        #expect(scene.deliver(BoxOrdered(label: "", capacity: 5), id: id).first is BoxProvisioningFailed)
        try FileManager.default.removeItem(atPath: obstacle)
        #expect(scene.deliver(BoxOrdered(label: "", capacity: 5), id: id).first is BoxProvisioned)
    }

    @Test("A killed process's file in the making is overwritten")
    func overwritesLeftovers() throws {
        let directory = try TemporaryDirectory()
        try directory.write("torn", to: ".\(Scene.storeName).new")
        let scene = try Scene(in: directory)
        scene.box(1)
        #expect(try directory.names == [Scene.storeName])
        _ = try Scene(in: directory)
    }

    @Test("A full disk is an error that says so", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func reportsFullDisk() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        try #require(full >= 0)
        defer { close(full) }
        let error = #expect(throws: FileError.self) {
            try Directory.write([1, 2, 3], to: full, named: "\"boxes.json\"")
        }
        #expect(error?.code == ENOSPC)
        #expect(error?.description == "writing \"boxes.json\" failed: No space left on device")
    }

    private static func store(boxes: String) -> String {
        "{\"handled\":{\"records\":[]},\"version\":1,\"warehouse\":{\"boxes\":[\(boxes)]}}"
    }

    private static func box(_ id: Int, capacity: Int = 5, items: [Int] = []) -> String {
        let list = items.map { "{\"id\":\($0),\"title\":\"\"}" }.joined(separator: ",")
        return "{\"capacity\":\(capacity),\"id\":\(id),\"items\":[\(list)],\"label\":\"\"}"
    }
}

/// Looks into the store at the moment when an answer would leave the process.
private final class SpyingLink: EventForwarder, @unchecked Sendable {
    // Sendable: `found` is guarded by `lock`.
    private let lock = Lock()
    private let directory: TemporaryDirectory
    private var found: Bool?

    init(_ directory: TemporaryDirectory) {
        self.directory = directory
    }

    /// Whether the box was in the file; nil if no answer came.
    var wasSaved: Bool? { lock.withLock { found } }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        guard let box = event as? BoxProvisioned else { return .taken }
        let isInFile = directory.text(Scene.storeName)?.contains("\(box.boxID)") == true
        lock.withLock { found = found ?? isInFile }
        return .taken
    }

    var hasRoom: Bool { true }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {}

    var isWantedElsewhere: Bool { true }
}

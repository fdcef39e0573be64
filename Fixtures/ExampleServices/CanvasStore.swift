public import DomainEvents
import ExampleDomain
import Locks

/// Saves drawings as SVG files: the example's second backend, the same in the publisher's process and in a worker.
///
/// Each request is answered after the file is on the disk. The service remembers no requests: saving the same drawing
/// under the same name again leaves the same file. To a service of this kind, an event that comes twice does no harm;
/// ``Provisioning`` shows what other services need. Because the service remembers nothing, it also loads nothing. So a
/// process that replaces an old one misses nothing that the old process has saved. It writes for the first time with
/// its first request, when the old process has ended.
///
/// A file's name may lead into subdirectories, which are made, but never out of the directory of the drawings: no
/// absolute name, no `..`, no symbolic link on the way. Names that begin with a dot are for incomplete files.
public final class CanvasStore: Sendable {
    private let publisher: EventPublisher
    private let directory: String
    // Held while a file is written, because an incomplete file always has the same temporary name.
    private let lock = Lock()

    private static let temporaryName = ".canvas.new"
    private static let deepest = 8

    /// Makes the directory, if it is missing, and begins to handle requests.
    ///
    /// - Parameters:
    ///   - publisher: where requests come from and answers go to.
    ///   - directory: where the files go; one process at a time writes there.
    /// - Throws: ``FileError`` if the directory cannot be made or opened.
    /// - Returns: The subscriptions, which keep the service alive: it ends when they are released.
    public static func start(publisher: EventPublisher, directory: String) throws -> [Subscription] {
        _ = try Directory.open(directory, creatingMissing: true)
        let store = CanvasStore(publisher: publisher, directory: directory)
        return [publisher.subscribe(to: CanvasSaveRequested.self) { store.handle($0) }]
    }

    private init(publisher: EventPublisher, directory: String) {
        self.publisher = publisher
        self.directory = directory
    }

    private func handle(_ event: CanvasSaveRequested) {
        do {
            try event.validate()
            let bytes = Drawing(event.shapes).bytes
            try lock.withLock { try write(bytes, to: Self.components(of: event.file)) }
            publisher.publish(CanvasSaved(canvasID: event.canvasID, file: event.file, byteCount: bytes.count))
        } catch {
            publisher.publish(SavingCanvasFailed(canvasID: event.canvasID, file: event.file, reason: "\(error)"))
        }
    }

    private func write(_ bytes: [UInt8], to path: (directories: [String], name: String)) throws(FileError) {
        var target = try Directory.open(directory)
        for component in path.directories { target = try target.subdirectory(component) }
        try target.replace(path.name, with: bytes, temporaryName: Self.temporaryName)
    }

    /// The directories that a file's name leads through, and its last part.
    private static func components(of file: String) throws(FileError) -> (directories: [String], name: String) {
        // The name is split as bytes, as the system reads it: to Swift, a slash before a combining accent is no slash.
        let bytes = Array(file.utf8)
        let slash = UInt8(ascii: "/")
        guard !bytes.isEmpty else { throw FileError("the file name is empty") }
        guard !bytes.contains(0) else { throw FileError("the file name contains a NUL character") }
        guard bytes[0] != slash else {
            throw FileError("the file name \"\(file)\" is absolute; it must stay within the directory of the drawings")
        }
        let parts = bytes.split(separator: slash, omittingEmptySubsequences: false)
        for part in parts {
            guard !part.elementsEqual("..".utf8) else {
                throw FileError("the file name \"\(file)\" leads out of the directory of the drawings with \"..\"")
            }
            guard !part.isEmpty, part.first != UInt8(ascii: ".") else {
                throw FileError("a part of the file name \"\(file)\" is empty or begins with a dot")
            }
        }
        guard parts.count <= deepest else {
            throw FileError("the file name leads through \(parts.count - 1) directories; \(deepest - 1) are allowed")
        }
        var components = parts.map { String(decoding: $0, as: UTF8.self) }
        let name = components.removeLast()
        return (components, name)
    }
}

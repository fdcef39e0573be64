import BridgePlatform
import Journal

/// The boxes on a shelf, kept in a file by a projection.
struct Shelf: Projection, Equatable {
    private var places: [Int64: String] = [:]
    private var changes: UInt64 = 0
    /// Differs if an event comes twice, not at all, or in another order.
    private var digest: UInt64 = 17

    /// The kill points of this process; static, because a projection's rules get no other object.
    static let kills = KillPoints(at: Int(CommandLine.arguments.dropFirst(3).first ?? "") ?? 0)

    static var events: [ProjectedEvent<Shelf>] {
        [
            .on(BoxShelved.self) { shelf, entry in
                kills.around { shelf.change(at: entry.position) { $0[entry.event.boxID] = entry.event.shelf } }
            },
            .on(BoxShipped.self) { shelf, entry in
                kills.around { shelf.change(at: entry.position) { $0[entry.event.boxID] = nil } }
            },
        ]
    }

    mutating func eventsAreMissing(_ gap: JournalGap) { digest = 0 }

    mutating func change(at position: UInt64, _ body: (inout [Int64: String]) -> Void) {
        body(&places)
        changes += 1
        digest = digest &* 31 &+ position
    }
}

/// A directory that passes a step of `KillPoints` before and after each change.
final class KillingStorage: JournalStorage {
    private let directory: StorageDirectory
    private let kills: KillPoints

    init(at path: String, _ kills: KillPoints) throws {
        directory = try StorageDirectory(at: path, makes: true)
        self.kills = kills
    }

    var writesInPlace: Bool { true }

    func names() throws(SystemError) -> [String] { try directory.names() }

    func open(_ name: String, forWriting: Bool) throws(SystemError) -> any JournalFile {
        try directory.open(name, forWriting: forWriting)
    }

    func create(_ name: String) throws(SystemError) -> any JournalFile {
        KillingFile(try kills.around { () throws(SystemError) in try directory.create(name) }, kills)
    }

    func rename(_ name: String, to other: String) throws(SystemError) {
        try kills.around { () throws(SystemError) in try directory.rename(name, to: other) }
    }

    func remove(_ name: String) throws(SystemError) {
        try kills.around { () throws(SystemError) in try directory.remove(name) }
    }

    func synchronize() throws(SystemError) {
        try kills.around { () throws(SystemError) in try directory.synchronize() }
    }
}

/// A new file; a kill during a write may leave only the first half of the bytes.
private final class KillingFile: JournalFile {
    private let file: StorageFile
    private let kills: KillPoints

    init(_ file: StorageFile, _ kills: KillPoints) {
        self.file = file
        self.kills = kills
    }

    func byteCount() throws(SystemError) -> Int { try file.byteCount() }

    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try file.read(at: offset, into: buffer)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        let half = bytes.count / 2
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<half]), at: offset)
        kills.pass()
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[half...]), at: offset + half)
        kills.pass()
    }

    func fillWithZeros(_ byteCount: Int) throws(SystemError) { try file.fillWithZeros(byteCount) }

    func truncate(to byteCount: Int) throws(SystemError) { try file.truncate(to: byteCount) }

    func map(_ byteCount: Int) throws(SystemError) -> MemoryMapping { try file.map(byteCount) }

    func synchronize() throws(SystemError) {
        try kills.around { () throws(SystemError) in try file.synchronize() }
    }
}

/// A database of SQLite that keeps payloads in their order, as a journal does.
///
/// Only one thread at a time may use it.
final class SQLiteStore {
    /// What a committed transaction is safe against.
    enum Synchronous: String {
        /// Against the death of the process; in `WAL` mode, a commit does not synchronize the file.
        case normal = "NORMAL"
        /// Against a power cut as well.
        case full = "FULL"
    }

    private let library: SQLiteLibrary
    private let connection: OpaquePointer
    private let path: String
    private var insertion: OpaquePointer?

    init(at path: String, _ synchronous: Synchronous) throws {
        library = try SQLiteLibrary()
        self.path = path
        var opened: OpaquePointer?
        let flags = SQLiteLibrary.openReadWrite | SQLiteLibrary.openCreate | SQLiteLibrary.openWithoutLock
        let result = library.open(path, &opened, flags, nil)
        guard let opened else { throw SQLiteError("\(path): no memory") }
        connection = opened
        guard result == SQLiteLibrary.ok else { throw failure("opening the database") }
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = \(synchronous.rawValue)")
        try execute("CREATE TABLE events (position INTEGER PRIMARY KEY, payload BLOB NOT NULL)")
        insertion = try prepare("INSERT INTO events (payload) VALUES (?)")
    }

    deinit {
        if let insertion { _ = library.finalize(insertion) }
        _ = library.close(connection)
    }

    /// Inserts a payload; outside ``transaction(_:)`` as a transaction of its own.
    func insert(_ payload: [UInt8]) throws {
        guard let insertion else { throw failure("inserting") }
        let result = payload.withUnsafeBytes { bytes in
            // SQLite reads the bytes during the step and not afterwards.
            let bound = library.bindBlob(insertion, 1, bytes.baseAddress, CInt(bytes.count), SQLiteLibrary.borrowed)
            return bound == SQLiteLibrary.ok ? library.step(insertion) : bound
        }
        _ = library.reset(insertion)
        guard result == SQLiteLibrary.done else { throw failure("inserting") }
    }

    func transaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        try body()
        try execute("COMMIT")
    }

    /// Reads all rows in their order.
    func read(_ body: (_ position: Int64, _ payload: UnsafeRawBufferPointer) throws -> Void) throws {
        let selection = try prepare("SELECT position, payload FROM events ORDER BY position")
        defer { _ = library.finalize(selection) }
        while true {
            switch library.step(selection) {
            case SQLiteLibrary.row:
                let payload = UnsafeRawBufferPointer(
                    start: library.columnBlob(selection, 1),
                    count: Int(library.columnBytes(selection, 1))
                )
                try body(library.columnInteger(selection, 0), payload)
            case SQLiteLibrary.done: return
            default: throw failure("reading")
            }
        }
    }

    private func execute(_ sql: String) throws {
        let statement = try prepare(sql)
        defer { _ = library.finalize(statement) }
        // A pragma may answer with a row.
        while true {
            switch library.step(statement) {
            case SQLiteLibrary.row: continue
            case SQLiteLibrary.done: return
            default: throw failure(sql)
            }
        }
    }

    private func prepare(_ sql: String) throws -> OpaquePointer {
        var prepared: OpaquePointer?
        guard library.prepare(connection, sql, -1, &prepared, nil) == SQLiteLibrary.ok, let prepared else {
            throw failure(sql)
        }
        return prepared
    }

    private func failure(_ what: String) -> SQLiteError {
        SQLiteError("\(path): \(what): \(library.message(connection).map { String(cString: $0) } ?? "unknown")")
    }
}

/// Says what SQLite refused, or that the system has no SQLite.
struct SQLiteError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

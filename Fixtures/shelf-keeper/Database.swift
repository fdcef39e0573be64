#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A database of SQLite; the system's SQLite library is loaded at run time.
///
/// Only one thread at a time may use a database.
final class Database {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let library: Library
    private let connection: OpaquePointer

    /// Opens a database, and makes the file if it is missing.
    ///
    /// Each transaction is safe against the death of the process; `synchronous = FULL` makes it safe against a power
    /// cut, too.
    init(at path: String) throws {
        library = try Library()
        var opened: OpaquePointer?
        let result = library.open(path, &opened, Library.openReadWrite | Library.openCreate, nil)
        guard let opened else { throw Failure(description: "\(path): no memory") }
        connection = opened
        guard result == Library.ok else { throw failure("opening \(path)") }
        try execute("PRAGMA journal_mode = WAL")
        try execute("PRAGMA synchronous = FULL")
    }

    deinit { _ = library.close(connection) }

    private func failure(_ what: String) -> Failure {
        Failure(description: "\(what): \(library.message(connection).map { String(cString: $0) } ?? "unknown")")
    }

    /// A value of a row or of a statement's parameter.
    enum Value: Equatable {
        case null
        case integer(Int64)
        case text(String)
        case blob([UInt8])

        var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
        var text: String? { if case .text(let value) = self { value } else { nil } }
        var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }
    }

    /// Carries out a statement, and returns its rows.
    @discardableResult
    func execute(_ sql: String, _ values: Value...) throws -> [[Value]] { try execute(sql, values) }

    @discardableResult
    func execute(_ sql: String, _ values: [Value]) throws -> [[Value]] {
        var prepared: OpaquePointer?
        guard library.prepare(connection, sql, -1, &prepared, nil) == Library.ok, let statement = prepared else {
            throw failure(sql)
        }
        defer { _ = library.finalize(statement) }
        for (index, value) in values.enumerated() {
            let number = CInt(index + 1)
            let result =
                switch value {
                case .null: library.bindNull(statement, number)
                case .integer(let value): library.bindInteger(statement, number, value)
                case .text(let value): library.bindText(statement, number, value, -1, Library.transient)
                case .blob(let bytes): library.bindBlob(statement, number, bytes, CInt(bytes.count), Library.transient)
                }
            guard result == Library.ok else { throw failure(sql) }
        }
        var rows: [[Value]] = []
        while true {
            switch library.step(statement) {
            case Library.row:
                rows.append((0..<library.columnCount(statement)).map { value(statement, $0) })
            case Library.done: return rows
            default: throw failure(sql)
            }
        }
    }

    private func value(_ statement: OpaquePointer, _ column: CInt) -> Value {
        switch library.columnType(statement, column) {
        case 1: return .integer(library.columnInteger(statement, column))
        case 3:
            guard let text = library.columnText(statement, column) else { return .null }
            return .text(String(cString: text))
        case 4:
            let count = Int(library.columnBytes(statement, column))
            guard let bytes = library.columnBlob(statement, column) else { return .blob([]) }
            return .blob(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }

    /// Carries out `body` as one transaction: afterwards all of its changes are there, or none.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN IMMEDIATE")
        let result: Result
        do {
            result = try body()
        } catch {
            try execute("ROLLBACK")
            throw error
        }
        try execute("COMMIT")
        return result
    }
}

/// The functions of SQLite that `Database` calls; SQLite's C interface is stable.
private struct Library {
    static let ok: CInt = 0
    static let row: CInt = 100
    static let done: CInt = 101
    static let openReadWrite: CInt = 2
    static let openCreate: CInt = 4
    /// Says that SQLite has to copy a parameter before the call returns.
    static let transient = Int(-1)

    /// The library's names on Linux and on Darwin.
    private static let names = ["libsqlite3.so.0", "libsqlite3.dylib"]

    typealias Statement = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    let open: @convention(c) (Text, UnsafeMutablePointer<OpaquePointer?>, CInt, Text?) -> CInt
    let close: @convention(c) (OpaquePointer) -> CInt
    let message: @convention(c) (OpaquePointer) -> Text?
    let prepare: @convention(c) (OpaquePointer, Text, CInt, UnsafeMutablePointer<Statement?>, OpaquePointer?) -> CInt
    let finalize: @convention(c) (Statement) -> CInt
    let step: @convention(c) (Statement) -> CInt
    let bindNull: @convention(c) (Statement, CInt) -> CInt
    let bindInteger: @convention(c) (Statement, CInt, Int64) -> CInt
    let bindText: @convention(c) (Statement, CInt, Text, CInt, Int) -> CInt
    let bindBlob: @convention(c) (Statement, CInt, UnsafeRawPointer, CInt, Int) -> CInt
    let columnCount: @convention(c) (Statement) -> CInt
    let columnType: @convention(c) (Statement, CInt) -> CInt
    let columnInteger: @convention(c) (Statement, CInt) -> Int64
    let columnText: @convention(c) (Statement, CInt) -> Text?
    let columnBlob: @convention(c) (Statement, CInt) -> UnsafeRawPointer?
    let columnBytes: @convention(c) (Statement, CInt) -> CInt

    init() throws {
        // The library stays loaded until the process ends.
        guard let handle = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first else {
            throw Database.Failure(description: "there is no \(Self.names.joined(separator: " or "))")
        }
        func symbol<Function>(_ name: String) throws -> Function {
            guard let found = dlsym(handle, name) else {
                throw Database.Failure(description: "SQLite has no \(name)")
            }
            // The caller states the function's type, as in SQLite's header.
            return unsafeBitCast(found, to: Function.self)
        }
        open = try symbol("sqlite3_open_v2")
        close = try symbol("sqlite3_close_v2")
        message = try symbol("sqlite3_errmsg")
        prepare = try symbol("sqlite3_prepare_v2")
        finalize = try symbol("sqlite3_finalize")
        step = try symbol("sqlite3_step")
        bindNull = try symbol("sqlite3_bind_null")
        bindInteger = try symbol("sqlite3_bind_int64")
        bindText = try symbol("sqlite3_bind_text")
        bindBlob = try symbol("sqlite3_bind_blob")
        columnCount = try symbol("sqlite3_column_count")
        columnType = try symbol("sqlite3_column_type")
        columnInteger = try symbol("sqlite3_column_int64")
        columnText = try symbol("sqlite3_column_text")
        columnBlob = try symbol("sqlite3_column_blob")
        columnBytes = try symbol("sqlite3_column_bytes")
    }
}

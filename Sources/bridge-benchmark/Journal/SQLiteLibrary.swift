#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The functions of the system's SQLite that the benchmark uses, loaded at run time; their C interface is stable.
struct SQLiteLibrary {
    static let ok: CInt = 0
    static let row: CInt = 100
    static let done: CInt = 101
    static let openReadWrite: CInt = 0x2
    static let openCreate: CInt = 0x4
    /// Says that only one thread at a time uses the connection, so SQLite takes no lock for a call.
    static let openWithoutLock: CInt = 0x8000
    /// Says that a parameter stays where it is while SQLite uses it.
    static let borrowed = 0

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
    let reset: @convention(c) (Statement) -> CInt
    let bindBlob: @convention(c) (Statement, CInt, UnsafeRawPointer?, CInt, Int) -> CInt
    let columnInteger: @convention(c) (Statement, CInt) -> Int64
    let columnBlob: @convention(c) (Statement, CInt) -> UnsafeRawPointer?
    let columnBytes: @convention(c) (Statement, CInt) -> CInt

    init() throws {
        // The library stays loaded until the process ends.
        guard let handle = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first else {
            throw SQLiteError("there is no \(Self.names.joined(separator: " or "))")
        }
        func symbol<Function>(_ name: String) throws -> Function {
            guard let found = dlsym(handle, name) else { throw SQLiteError("SQLite has no \(name)") }
            // The caller states the function's type, as in SQLite's header.
            return unsafeBitCast(found, to: Function.self)
        }
        open = try symbol("sqlite3_open_v2")
        close = try symbol("sqlite3_close_v2")
        message = try symbol("sqlite3_errmsg")
        prepare = try symbol("sqlite3_prepare_v2")
        finalize = try symbol("sqlite3_finalize")
        step = try symbol("sqlite3_step")
        reset = try symbol("sqlite3_reset")
        bindBlob = try symbol("sqlite3_bind_blob")
        columnInteger = try symbol("sqlite3_column_int64")
        columnBlob = try symbol("sqlite3_column_blob")
        columnBytes = try symbol("sqlite3_column_bytes")
    }
}

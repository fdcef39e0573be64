import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A projection whose process is killed")
struct ShelfKillTests {
    @Test(
        "J17: killed at each step, before and after each event and each call for the file: each event counts once",
        .timeLimit(.minutes(10))
    )
    func fileAtEachStep() throws {
        let keeping = try ShelfKeeping("file")
        // An event has two steps, and a saving of the state twelve.
        #expect(try keeping.killAtEachStep(events: 3) >= 3 * 14)
    }

    @Test("J17: killed anywhere in a burst: each event counts once", .timeLimit(.minutes(5)))
    func fileInBurst() throws {
        let keeping = try ShelfKeeping("file")
        for kill in 0..<12 {
            try keeping.kill(after: 1 + kill * kill * 13)
            #expect(try keeping.isRight(), "kill \(kill)")
        }
    }

    @Test(
        "J17: state, position and outbox in a transaction of SQLite, killed at each step: each event counts once",
        .timeLimit(.minutes(10))
    )
    func databaseAtEachStep() throws {
        guard Self.hasSQLite() else { return }
        let keeping = try ShelfKeeping("database")
        // Two boxes are shelved, each with a label, and one is shipped. The least that an event has is five steps.
        #expect(try keeping.killAtEachStep(events: 3) >= 5 * 5)
    }

    @Test("J17: state, position and outbox in a transaction of SQLite, killed anywhere", .timeLimit(.minutes(5)))
    func databaseInBurst() throws {
        guard Self.hasSQLite() else { return }
        let keeping = try ShelfKeeping("database")
        for kill in 0..<12 {
            try keeping.kill(after: 1 + kill * kill)
            #expect(try keeping.isRight(), "kill \(kill)")
        }
    }

    /// Whether the system has SQLite; if not, reports what is not tested.
    private static func hasSQLite() -> Bool {
        let names = ["libsqlite3.so.0", "libsqlite3.dylib"]
        guard let library = names.lazy.compactMap({ dlopen($0, RTLD_LAZY) }).first else {
            CurrentProcess.report("not tested: J17 with a database, as there is no SQLite")
            return false
        }
        dlclose(library)
        return true
    }
}

import BridgePlatform
import Supervision
import Testing

@testable import supervisor

@Suite("What a service manager is told")
struct ServiceTests {
    @Test(
        "signs of life come twice as often as they are waited for, if they are waited for from this process",
        arguments: [
            (["WATCHDOG_USEC": "3000000"], 1_500_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42"], 1_500_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "41"], nil),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "x"], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-1"], nil), (["WATCHDOG_USEC": "3 s"], nil), ([:], nil),
            (["WATCHDOG_USEC": "18446744073709551615"], nil),
        ] as [([String: String], UInt64?)]
    )
    func watchdog(variables: [String: String], interval: UInt64?) {
        #expect(ServiceManager.watchdogInterval({ variables[$0] }, process: 42) == interval)
    }

    @Test(
        "a manager is only where one says that it is",
        arguments: ["", "x", "vsock:2:3", "/", "@", String(repeating: "/", count: 500)]
    )
    func noSocket(name: String) {
        #expect(ServiceSocket(name: name) == nil)
        #expect(ServiceSocket(name: nil) == nil)
    }

    @Test("the journal reads if it is what standard error is")
    func journal() throws {
        let file = try #require(SystemFile.standardError.identity)
        #expect(JournalStream.isAttached("\(file.device):\(file.number)", to: file))
        #expect(!JournalStream.isAttached("\(file.device):\(file.number)1", to: file))
        #expect(!JournalStream.isAttached(nil, to: file))
        #expect(!JournalStream.isAttached("1:2", to: nil))
    }
}

import BridgePlatform
import Supervision
import TestSupport
import Testing

@testable import supervisor

@Suite("What a service manager is told", .timeLimit(.minutes(5)))
struct ServiceTests {
    @Test(
        "signs of life come twice as often as they are waited for, if they are waited for from this process",
        arguments: [
            (["WATCHDOG_USEC": "3000000"], 1_500_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "42"], 1_500_000_000),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "41"], nil),
            (["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "x"], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-1"], nil), (["WATCHDOG_USEC": "3 s"], nil), ([:], nil),
            (["WATCHDOG_USEC": "18446744073709551615"], nil), (["WATCHDOG_USEC": "36893488147419103"], nil),
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

    @Test(
        "a state of any length leaves room for the message before it, and is cut between two characters",
        arguments: ["x", "é", "👩‍👩‍👧", "e" + String(repeating: "\u{301}", count: 5_000)]
    )
    func longState(character: String) throws {
        let manager = try NotifySocket()
        let state = String(repeating: character, count: 1 + 5_000 / character.utf8.count)
        let service = try manager.told(by: { state }, failures: Collected())
        service.becameReady()
        service.finish()
        let message = try #require(manager.takeAll().first)
        #expect(message.utf8.count <= 4_096)
        let lines = message.split(separator: "\n")
        #expect(lines.count == 2 && lines.first == "READY=1")
        let line = try #require(lines.last)
        #expect(line.hasPrefix("STATUS=") && line.last == "…")
        let shown = line.dropFirst("STATUS=".count).dropLast()
        #expect(shown.allSatisfy { String($0) == character })
        // Nothing is cut that has room.
        #expect(message.utf8.count + character.utf8.count > 4_096)
    }

    @Test("what a manager had no room for comes with the next report")
    func nextReport() async throws {
        let (manager, failures) = (try NotifySocket(), Collected<SystemError>())
        let service = try manager.told(by: { "well" }, failures: failures)
        try manager.fill()
        service.becameReady()
        await failures.wait(for: 1)
        manager.takeAll()
        service.beganStopping()
        service.finish()
        let lines = manager.takeAll().flatMap { $0.split(separator: "\n") }
        #expect(lines.filter { $0 != "STATUS=well" } == ["READY=1", "STOPPING=1"])
        #expect(lines.contains("STATUS=well"))
    }

    @Test("what a manager had no room for comes again by itself, even if nothing else is to be reported")
    func comesAgain() async throws {
        let (manager, failures, messages) = (try NotifySocket(), Collected<SystemError>(), Collected<String>())
        let service = try manager.told(by: { "well" }, failures: failures)
        try manager.fill()
        service.becameReady()
        await failures.wait(for: 1)
        let thread = try manager.takeEach { messages.add($0) }
        let all = await messages.wait { $0.contains("READY=1\nSTATUS=well") }
        #expect(all.contains("READY=1\nSTATUS=well"))
        manager.end()
        thread.join()
        service.finish()
    }

    @Test("a manager that never has room does not hold up the end")
    func neverRoom() async throws {
        let (manager, failures) = (try NotifySocket(), Collected<SystemError>())
        let service = try manager.told(by: { "well" }, failures: failures)
        try manager.fill()
        service.becameReady()
        await failures.wait(for: 1)
        service.beganStopping()
        service.finish()
        #expect(failures.count == 1)
        #expect(manager.takeAll().allSatisfy { $0 == "X=1" })
    }
}

@Suite("The messages for a service manager, in their order")
struct ServiceMessagesTests {
    private func all(_ steps: (inout ServiceMessages) -> Void) -> [String] {
        var messages = ServiceMessages()
        steps(&messages)
        var found: [String] = []
        while let next = messages.next {
            found.append(next)
            messages.removeNext()
        }
        return found
    }

    @Test("a life: ready, reloading, ready again, stopping")
    func life() {
        let messages = all {
            $0.becameReady()
            $0.beganReloading(at: 7_999)
            $0.endedReloading()
            $0.beganStopping()
        }
        #expect(messages == ["READY=1", "RELOADING=1\nMONOTONIC_USEC=7", "READY=1", "STOPPING=1"])
    }

    @Test("a bridge that is not ready yet does not reload: the end of a reload makes nothing ready")
    func notReady() {
        let messages = all {
            $0.beganReloading(at: 1)
            $0.endedReloading()
            $0.becameReady()
        }
        #expect(messages == ["READY=1"])
    }

    @Test("nothing comes after the beginning of the end, whatever was on its way")
    func stopping() {
        let messages = all {
            $0.beganStopping()
            $0.becameReady()
            $0.beganReloading(at: 1)
            $0.endedReloading()
            $0.beganStopping()
        }
        #expect(messages == ["STOPPING=1"])
    }
}

import BridgePlatform
import TestSupport
import Testing

@testable import EventBridge

#if os(Linux)
@Suite("What is looked for behind a worker", .timeLimit(.minutes(1)))
struct LeftoverSearchTests {
    @Test("The group of a worker whose status others have taken is looked through as well")
    func groupThatMayLive() async throws {
        let search = LeftoverSearch()
        let value = search.nextValue(for: "faulty")
        var request = SpawnRequest(executable: "/bin/sleep")
        request.arguments = ["3600"]
        request.environment = [MarkedProcesses.Mark.variable: value]
        let child = try ChildProcess.spawn(request)
        let found = Collected<Int32>()
        search.search(for: value, outside: nil) { processes in
            for process in processes { found.add(process.processIdentifier) }
        }
        await search.finish()
        #expect(found.all == [child.processIdentifier])
        await onThreads(1) { _ in _ = child.waitForExit() }
    }
}
#endif

import BridgePlatform
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Of a supervisor that is killed at any moment nothing is left", .serialized)
struct OrphanTests {
    /// From the start of the program to behind the moment in which all of its workers are ready, on a machine with some
    /// work.
    private static let latestKill: UInt64 = 400_000_000

    /// Workers at rest, with a child, with a child that has left the group, in another language, and one that is always
    /// starting.
    private static func configuration(_ mark: String) -> String {
        let faulty = ["none", "grandchild", "daemon", "crash-before-hello"].map { name in
            """
            { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(name)"],
              backoff: { initial: "1ms", maximum: "2ms" }, environment: { ORPHAN_TEST: "\(mark)" } },
            """
        }
        return """
            { intensity: { restarts: 1000, within: "1h" }, workers: [
            \(faulty.joined(separator: "\n"))
            { name: "shell", executable: "/bin/sh", arguments: ["-c", "sleep 1000 & setsid sleep 1000 & wait"],
              environment: { ORPHAN_TEST: "\(mark)" } },
            ] }
            """
    }

    @Test(
        "A13, A14: killed at random moments, its start included, it leaves no worker and nothing that these have started",
        .timeLimit(.minutes(10))
    )
    func killedAtRandom() async throws {
        let kills = rounds(50)
        var random = SeededGenerator.announced()
        let workspace = try Workspace()
        let poller = try Poller(name: "killer")
        defer { poller.stop() }
        var slowest: UInt64 = 0
        for number in 1...kills {
            let mark = "\(random.seed).\(number)"
            try workspace.write("bridge.json5", Self.configuration(mark))
            let moment = random.next() % Self.latestKill
            let (supervisor, died) = try killSupervisor(in: workspace.path, after: moment, poller) { supervisor in
                // Now and then not before it has its guard and a worker, lest nothing be at stake, or nothing be found.
                if number % 5 == 0 { waitUntil { Self.processes(of: supervisor, bearing: mark).count > 1 } }
            }
            var left = Self.processes(of: supervisor, bearing: mark)
            // The test's limit ends what never comes. How long it takes is printed: a loaded machine is not a fault.
            while !left.isEmpty {
                await Task.yield()
                left = Self.processes(of: supervisor, bearing: mark)
            }
            slowest = max(slowest, MonotonicClock.now() - died)
        }
        print("\(kills) kills; all gone after \(slowest / 1_000_000) ms at the latest, with a look at all processes")
    }

    /// - Returns: Its number, and when it was dead.
    private func killSupervisor(
        in directory: String,
        after moment: UInt64,
        _ poller: Poller,
        _ look: @escaping @Sendable (Int32) -> Void
    ) throws -> (supervisor: Int32, died: UInt64) {
        var request = SpawnRequest(executable: try SupervisorProgram.products() + "/supervisor")
        request.arguments = ["run", "bridge.json5"]
        request.environment = ["PATH": "/usr/bin:/bin"]
        request.workingDirectory = directory
        let supervisor = try ChildProcess.spawn(request)
        // The fault itself, not a wait for something.
        poller.schedule(after: moment) {
            look(supervisor.processIdentifier)
            _ = try? supervisor.signal(SIGKILL)
        }
        #expect(supervisor.waitForExit().status == .signaled(signal: SIGKILL, coreDumped: false))
        return (supervisor.processIdentifier, MonotonicClock.now())
    }

    /// Those that live and have the mark in their environment, as all have that come from workers; and their guard.
    private static func processes(of supervisor: Int32, bearing mark: String) -> [String] {
        let (variable, parent) = (Data("ORPHAN_TEST=\(mark)\0".utf8), Data("--parent\0\(supervisor)\0".utf8))
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.filter { Int($0) != nil } ?? []
        // Of a zombie neither can be read.
        return numbers.filter { number in
            func has(_ file: String, _ wanted: Data) -> Bool {
                (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(number)/\(file)")))?.firstRange(of: wanted) != nil
            }
            return has("environ", variable) || has("cmdline", parent)
        }
    }
}

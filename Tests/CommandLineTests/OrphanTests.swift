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
    /// The latest kill after the program's start: later than the readiness of all its workers, on a machine with some
    /// other work.
    private static let latestKill: UInt64 = 400_000_000

    /// Workers at rest, with a child, with a child that has left the group, in another language, and a worker that is
    /// always starting.
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
                // Every fifth kill waits for the guard and a worker, so that there is something to find.
                if number % 5 == 0 { waitUntil { Self.processes(of: supervisor, bearing: mark).count > 1 } }
            }
            var left = Self.processes(of: supervisor, bearing: mark)
            // Only the test's limit ends this wait. The time is printed, not judged: a loaded machine is no fault.
            while !left.isEmpty {
                await Task.yield()
                left = Self.processes(of: supervisor, bearing: mark)
            }
            slowest = max(slowest, MonotonicClock.now() - died)
        }
        print("\(kills) kills; all gone after \(slowest / 1_000_000) ms at the latest, with a look at all processes")
    }

    /// - Returns: The supervisor's process number, and when it was dead.
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

    /// The living processes with the mark in their environment, which all processes of workers have; and their guard.
    private static func processes(of supervisor: Int32, bearing mark: String) -> [String] {
        let (variable, parent) = (Data("ORPHAN_TEST=\(mark)\0".utf8), Data("--parent\0\(supervisor)\0".utf8))
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.filter { Int($0) != nil } ?? []
        // For a zombie neither file can be read.
        return numbers.filter { number in
            func has(_ file: String, _ wanted: Data) -> Bool {
                (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(number)/\(file)")))?.firstRange(of: wanted) != nil
            }
            return has("environ", variable) || has("cmdline", parent)
        }
    }
}

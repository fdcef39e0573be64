import BridgePlatform
import Foundation
import JSONText
import Locks
import TestSupport
import Testing

@Suite("supervisor run, told to read its configuration again while the example's workers have work", .serialized)
struct ReloadUnderLoadTests {
    private static let rounds = TestSupport.rounds(10, atLeast: 2)

    private static func configuration(after reloads: Int, in workspace: Workspace) -> String {
        """
        { workers: [
            { name: "provisioning", executable: "provisioning-worker", arguments: ["--store", "\(workspace.path)/boxes.json"],
              subscribes: ["BoxOrdered"], \(Workspace.workerEnvironment(with: "RELOADS: \"\(reloads)\",")),
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
        ] }
        """
    }

    @Test(
        "a worker that is replaced three times while it saves box after box has every box in its file that it has confirmed",
        .timeLimit(.minutes(5)),
        arguments: 1...rounds
    )
    func confirmedAndKept(round: Int) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(after: 0, in: workspace))
        let orders = Orders { reloads in
            do {
                try workspace.write("bridge.json5", Self.configuration(after: reloads, in: workspace))
            } catch {
                Issue.record(error)
            }
        }
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            "--format",
            "json",
            waitsForInput: true,
            onError: orders.errorLine,
            onOutput: orders.outputLine
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        let reloads = result.errors.filter { $0.contains("was read again") }
        #expect(reloads.count == Orders.reloads && reloads.allSatisfy { $0.hasSuffix(#"replaced "provisioning""#) })
        let (ordered, confirmed) = (orders.ordered, orders.confirmed)
        #expect(ordered >= Orders.least)
        #expect(confirmed.sorted() == Array(1...UInt64(ordered)), "each order is answered once")
        let kept = try Self.boxes(in: workspace)
        #expect(Set(confirmed).subtracting(kept).sorted() == [], "these are confirmed and not in the file")
        #expect(kept.count == ordered)
    }

    private static func boxes(in workspace: Workspace) throws -> [UInt64] {
        let file = try Data(contentsOf: URL(fileURLWithPath: "\(workspace.path)/boxes.json"))
        let content = try JSONReader().read(Array(file))
        guard case .array(let boxes)? = content["warehouse"]?["boxes"]?.value else { return [] }
        return boxes.compactMap { if case .unsigned(let id)? = $0["id"]?.value { id } else { nil } }
    }
}

/// Orders box after box, a few at a time, until the workers were replaced as often as planned; each hundredth answer is
/// followed by the next reload, if the last reload is finished.
///
/// Answers, not times, control the load, so the old worker still saves while its replacement starts, however slow the
/// machine is.
private final class Orders: @unchecked Sendable {
    // Sendable: `state` is guarded by `lock`; the rest is constant.
    static let reloads = 3
    static let least = 400
    private static let answersPerReload = 100
    /// How many orders are on their way at once.
    private static let open = 4

    private struct State {
        var ordered = 0
        var confirmed: [UInt64] = []
        var begun = 0
        var ended = 0

        var isThrough: Bool { ended == Orders.reloads && ordered >= Orders.least }
    }

    private let lock = Lock()
    private var state = State()
    private let prepare: @Sendable (Int) -> Void

    /// - Parameter prepare: writes the configuration for this reload.
    init(prepare: @escaping @Sendable (Int) -> Void) {
        self.prepare = prepare
    }

    /// How many boxes were ordered; their ids are 1 and up.
    var ordered: Int { lock.withLock { state.ordered } }

    /// The ids of the boxes that were confirmed, in that order.
    var confirmed: [UInt64] { lock.withLock { state.confirmed } }

    func errorLine(_ program: SupervisorProgram, _ line: String) {
        if line.contains("worker \"provisioning\" is ready"), ordered == 0 {
            for _ in 0..<Self.open { order(program) }
        } else if line.contains("was read again") {
            lock.withLock { state.ended += 1 }
        }
    }

    func outputLine(_ program: SupervisorProgram, _ line: String) {
        guard let event = try? JSONReader().read(line), event["type"]?.value == .string("BoxProvisioned"),
            case .unsigned(let id)? = event["data"]?["boxID"]?.value
        else { return }
        let (reload, isThrough, isLast): (Int?, Bool, Bool) = lock.withLock {
            state.confirmed.append(id)
            let isThrough = state.isThrough
            let isLast = isThrough && state.confirmed.count == state.ordered
            guard state.begun == state.ended, state.begun < Self.reloads,
                state.confirmed.count >= (state.begun + 1) * Self.answersPerReload
            else { return (nil, isThrough, isLast) }
            state.begun += 1
            return (state.begun, isThrough, isLast)
        }
        if let reload {
            prepare(reload)
            program.hangUp()
        }
        if !isThrough { order(program) }
        if isLast { program.finishInput("") }
    }

    private func order(_ program: SupervisorProgram) {
        let id = lock.withLock {
            state.ordered += 1
            return state.ordered
        }
        program.write(#"{"type": "BoxOrdered", "data": {"label": "", "capacity": 5, "boxID": \#(id)}}"# + "\n")
    }
}

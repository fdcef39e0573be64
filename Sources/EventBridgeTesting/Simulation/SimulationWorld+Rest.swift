import EventBridge

/// The checks of a world at rest.
extension SimulationWorld {
    /// Ends all faults, and returns when nothing is on its way in any host (see `BridgeHost.waitUntilIdle()`).
    ///
    /// - Throws: ``SimulationError`` if a host is not at rest within `limit`, or if a check of a host fails.
    public func rest(within limit: Duration) async throws {
        core.calm()
        try await wait(limit) { [self] in for program in programs { await program.waitUntilRunning() } }
        for host in core.hosts {
            try await wait(limit) { await host.bridge.waitUntilIdle() }
            if let mistake = core.auditRest(of: host) { throw SimulationError(mistake) }
        }
        core.check()
        core.tell("everything is at rest")
    }

    private func wait(_ limit: Duration, for rest: @escaping @Sendable () async -> Void) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                await rest()
                return true
            }
            group.addTask { [self] in
                try await sleep(for: limit)
                return false
            }
            let isAtRest = try await group.next() ?? false
            guard isAtRest else { throw SimulationError("no rest within \(limit): \(core.hosts.map(\.bridge.status))") }
            group.cancelAll()
        }
    }
}

import JSONText

/// Reads how the workers' starts and ends depend on one another, and reports settings that do not fit together.
extension SupervisorConfiguration {
    /// Whether the end of significant workers stops all workers.
    package enum AutomaticShutdownSetting: String, Sendable, Hashable, CaseIterable {
        case never
        case anySignificant = "any-significant"
        case allSignificant = "all-significant"
    }

    /// Whether workers wait for each other at the start.
    package enum StartOrderSetting: String, Sendable, Hashable, CaseIterable {
        case together
        case inSequence = "in-sequence"
    }

    /// Reads the start order, and checks that the automatic shutdown fits the workers, which were read before.
    mutating func readLives(from object: ConfigurationObject) {
        startOrder = object.optional("startOrder")?.choice() ?? startOrder
        guard automaticShutdown != .never, !workers.isEmpty, !workers.contains(where: \.isSignificant) else { return }
        object.optional("automaticShutdown")?
            .report(
                "found \"\(automaticShutdown.rawValue)\" without a significant worker, expected one with \"significant\": true"
            )
    }

    /// Reads the settings that have to fit the worker's restart type and subscriptions, which were read before.
    static func readLife(
        of worker: inout Worker,
        from object: ConfigurationObject,
        _ automaticShutdown: AutomaticShutdownSetting
    ) {
        readDemand(of: &worker, from: object)
        guard let value = object.optional("significant") else { return }
        worker.isSignificant = value.bool() ?? worker.isSignificant
        guard worker.isSignificant else { return }
        if worker.restart == .permanent {
            value.report(
                "found true for a permanent worker, which always starts again; expected \"restart\": \"transient\" or \"temporary\""
            )
        }
        if automaticShutdown == .never {
            value.report(
                """
                found true without an automatic shutdown; expected "automaticShutdown": "any-significant" or \
                "all-significant"
                """
            )
        }
        if worker.idleTime != nil {
            value.report("found true for a worker on demand, which stops whenever it is idle; expected false")
        }
    }

    /// Reads the key `onDemand`: a Boolean, or an object with the time after which an idle worker is stopped.
    private static func readDemand(of worker: inout Worker, from object: ConfigurationObject) {
        guard let value = object.optional("onDemand") else { return }
        if case .bool(let isOnDemand) = value.node.value {
            worker.idleTime = isOnDemand ? defaultIdleTime : nil
        } else if let members = value.object(keys: ["idle"]) {
            worker.idleTime = members.optional("idle")?.duration(in: durations, example: "60s") ?? defaultIdleTime
        }
        guard worker.idleTime != nil else { return }
        if worker.restart == .temporary {
            value.report("found a temporary worker, which starts only once; expected \"permanent\" or \"transient\"")
        }
        if worker.subscribes.isEmpty {
            value.report(
                "found no event that could start the worker; expected the names of its events in \"subscribes\""
            )
        }
    }

    private static let defaultIdleTime = Duration.seconds(60)
}

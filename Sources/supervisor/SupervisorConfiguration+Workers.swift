import EventBridge
import Supervision
import SupervisorConfiguration

/// Translates the configuration into the bridge's types.
extension SupervisorConfiguration {
    var workerSpecifications: [WorkerSpecification] { workers.map(\.specification) }

    var restartStrategy: RestartStrategy {
        switch strategy {
        case .oneForOne: .oneForOne
        case .oneForAll: .oneForAll
        case .restForOne: .restForOne
        }
    }

    var restartIntensity: RestartIntensity {
        RestartIntensity(restarts: intensity.restarts, within: intensity.within)
    }

    var bridgeShutdown: AutomaticShutdown {
        switch automaticShutdown {
        case .never: .never
        case .anySignificant: .anySignificant
        case .allSignificant: .allSignificant
        }
    }

    var bridgeStartOrder: StartOrder {
        switch startOrder {
        case .together: .together
        case .inSequence: .inSequence
        }
    }

    var deadLetterLimits: DeadLetterLimits {
        DeadLetterLimits(
            letters: deadLetters.letters,
            bytes: deadLetters.bytes,
            whenFull: deadLetters.whenFull.overflow
        )
    }
}

extension SupervisorConfiguration.Worker {
    var specification: WorkerSpecification {
        WorkerSpecification(
            child: child,
            subscribes: subscribes,
            publishes: publishes,
            mayImport: mayImport,
            limits: workerLimits,
            pool: pool.map(WorkerPool.init),
            box: box.map(WorkerBox.init),
            allowsControl: allowsControl
        )
    }

    private var child: ChildSpecification {
        var child = ChildSpecification(
            name,
            executable: .path(executable),
            arguments: arguments,
            environment: environment,
            workingDirectory: directory,
            restart: restart.type,
            isSignificant: isSignificant,
            onDemand: idleTime.map { OnDemand(idleTime: $0) },
            backoff: .exponential(from: backoff.initial, to: backoff.maximum),
            handshakeTimeout: handshake,
            heartbeat: Heartbeat(every: heartbeat.every, tolerance: heartbeat.tolerance),
            shutdown: .draining(grace: shutdown.grace)
        )
        child.standsAlone = standsAlone
        return child
    }

    /// The worker's limits; the outbox's hard limit is the library's default, but not less than the configured outbox.
    private var workerLimits: WorkerLimits {
        var result = WorkerLimits()
        result.outbox = limits.outbox
        result.outboxHardLimit = max(result.outboxHardLimit, limits.outbox)
        result.overflow = limits.overflow
        result.frame = limits.frame
        result.strikes = limits.strikes
        result.handlerDeadline = limits.handlerDeadline
        result.output = limits.output
        result.interestNames = limits.interestNames
        result.eventNames = limits.eventNames
        result.controlMessages = limits.controlMessages
        result.frameDeadline = limits.frameDeadline
        return result
    }
}

extension SupervisorConfiguration.DeadLetters.WhenFull {
    fileprivate var overflow: DeadLetterLimits.Overflow {
        switch self {
        case .stop: .stop
        case .evictOldest: .evictOldest
        }
    }
}

extension SupervisorConfiguration.Worker.Restart {
    fileprivate var type: RestartType {
        switch self {
        case .permanent: .permanent
        case .transient: .transient
        case .temporary: .temporary
        }
    }
}

extension WorkerBox {
    fileprivate init(_ box: SupervisorConfiguration.Worker.Box) {
        self.init(
            memory: box.memory,
            processorTime: box.processorTime,
            openFiles: box.openFiles,
            processes: box.processes,
            core: box.core,
            fileSize: box.fileSize,
            files: box.files.map { Files(readOnly: $0.readOnly, writable: $0.writable) },
            allowsNetwork: box.allowsNetwork,
            allowsConnections: box.allowsConnections,
            umask: box.mask,
            isBestEffort: box.isBestEffort
        )
    }
}

extension WorkerPool {
    fileprivate init(_ pool: SupervisorConfiguration.Worker.Pool) {
        self.init(
            pool.members,
            keys: pool.keys.mapValues { key in
                switch key {
                case .field(let name): .field(name)
                case .anyMember: .anyMember
                case .everyMember: .everyMember
                }
            }
        )
    }
}

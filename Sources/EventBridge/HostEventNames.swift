package import DomainEvents

/// The names of the events of this module, which a host publishes itself.
package enum HostEventNames {
    package static let reports = EventName.set([
        WorkerReady.eventName, WorkerUnresponsive.eventName, WorkerExited.eventName, EventsLost.eventName,
        WorkerReplaced.eventName, WorkerNotReplaced.eventName, WorkerGaveUp.eventName, BridgeEnding.eventName,
        WorkerOutput.eventName, WorkerOutputDropped.eventName, WorkerBoxIncomplete.eventName,
        WorkerLeftBehind.eventName, ClientAttached.eventName, ClientDetached.eventName,
        ControlSocketReported.eventName,
    ])
}

package import DomainEvents

/// An event of a run; the types differ in who wants them.
package protocol ChaosEvent: DomainEvent {
    var payload: ChaosPayload { get }
    init(payload: ChaosPayload)
}

/// For the host.
package struct ForHost: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the worker `a`.
package struct ForA: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the worker `b`.
package struct ForB: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For both workers.
package struct ForBoth: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the worker `a`, for everybody else.
package struct FromA: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the worker `b`, for everybody else.
package struct FromB: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

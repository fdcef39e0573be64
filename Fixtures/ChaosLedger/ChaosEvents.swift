package import DomainEvents

/// An event of a run; the types differ in their receivers.
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

/// For the workers `a` and `b`, and for the client.
package struct ForBoth: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the handlers of the worker `a`, for the host and the worker `b`.
package struct FromA: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the handlers of the worker `b`, for the host and the worker `a`.
package struct FromB: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From a thread or a task of the source.
package struct FromSource: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the first worker of the pipeline, for the middle one.
package struct Ask: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the middle worker of the pipeline, for the last one, which is slow.
package struct Reply: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the worker on demand, which the event starts.
package struct ForDemand: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From a thread of the worker on demand.
package struct FromDemand: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the worker whose policy drops the oldest of these.
package struct Oldest: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the worker whose policy drops the newest of these.
package struct Newest: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the guest that runs at the time.
package struct ForGuest: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From a thread of the guest.
package struct FromGuest: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the asker, which waits until the event is handled.
package struct Errand: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the asker, which waits for the answer.
package struct Question: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// The answer to a question.
package struct Answer: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// From the client.
package struct FromClient: ChaosEvent {
    package let payload: ChaosPayload
    package init(payload: ChaosPayload) {
        self.payload = payload
    }
}

/// For the member of the pool that the key chooses.
package struct Keyed: ChaosEvent {
    package let payload: ChaosPayload
    /// The stream: a stream has one key.
    package let key: UInt8
    package init(payload: ChaosPayload) {
        self.payload = payload
        key = payload.stream
    }
}

/// For the worker that has to get only the latest event of each key.
package struct Latest: ChaosEvent {
    package let payload: ChaosPayload
    /// The stream: a stream has one key.
    package let key: UInt8
    package init(payload: ChaosPayload) {
        self.payload = payload
        key = payload.stream
    }
}

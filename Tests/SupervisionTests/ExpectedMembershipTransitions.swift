/// The next state and the actions for each input for a child that is added to a running supervisor or removed from it.
///
/// As in `ExpectedTransitions.swift`: inputs that a row leaves out change nothing.
let expectedMembershipTransitions: [String: [String]] = [
    "added": [
        "restart -> starting; spawn a 1",
        "replace -> not started; adopt a; exchanged",
        "stop child -> stopped",
        "stop -> stopped; all stopped",
        "escalate -> stopped; all stopped",
        "start added -> starting; spawn a 1",
        "remove -> stopped; removed a",
    ],
    "added before the start": [
        "start -> starting; spawn a 1",
        "replace -> not started; not replaced: nothing has been started yet, or the shutdown has begun",
        "stop -> stopped; all stopped",
        "escalate -> stopped; all stopped",
        "remove -> stopped; removed a",
    ],
    "added while all stop": [
        "start -> starting; spawn a 1",
        "replace -> not started; not replaced: nothing has been started yet, or the shutdown has begun",
        "start added -> stopped",
        "remove -> stopped; removed a",
    ],
    "added and started": [
        "spawn failed -> backing off",
        "ready -> ready",
        "exit 0 -> backing off",
        "crash -> backing off",
        "crash over an event -> backing off",
        "last crash -> gave up",
        "orderly end -> backing off",
        "violation -> stopping",
        "rejected -> stopping",
        "restart -> stopping",
        "replace -> starting; spawn a 2 beside it",
        "stop child -> stopping",
        "stop -> stopping",
        "escalate -> stopping",
        "remove -> stopping",
    ],
    "removed while spawning": [
        "spawned -> stopping; SIGTERM a",
        "spawn failed -> stopped; removed a",
        "ready -> stopping; SIGTERM a",
        "exit 0 -> stopped; removed a",
        "crash -> stopped; removed a",
        "crash over an event -> stopped; removed a",
        "last crash -> stopped; removed a",
        "orderly end -> stopped; removed a",
        "replace -> stopping; not replaced: it was removed",
    ],
    "removed, draining": [
        "process ended -> stopping",
        "exit 0 -> stopped; removed a",
        "crash -> stopped; removed a",
        "crash over an event -> stopped; removed a",
        "last crash -> stopped; removed a",
        "orderly end -> stopped; removed a",
        "violation -> stopping; SIGKILL a",
        "goodbye -> stopping",
        "timer -> stopping; SIGTERM a",
        "replace -> draining; not replaced: it was removed",
        "escalate -> stopping; SIGTERM a",
    ],
    "removed while it is replaced": [
        "process ended -> stopping",
        "exit 0 -> stopped",
        "crash -> stopped",
        "crash over an event -> stopped",
        "last crash -> stopped",
        "orderly end -> stopped",
        "violation -> stopping; SIGKILL a",
        "goodbye -> stopping",
        "timer -> stopping; SIGTERM a",
        "replace -> draining; not replaced: it was removed",
        "escalate -> stopping; SIGTERM a",
        "new crash -> draining; not replaced: it was stopped",
        "new violation -> draining; SIGKILL the one beside a",
        "last timer -> draining; SIGKILL the one beside a",
    ],
    "removed while it is replaced, down": [
        "timer -> stopped; SIGKILL the one beside a",
        "replace -> stopped; not replaced: it was removed",
        "new crash -> stopped; not replaced: it was stopped; removed a",
        "new violation -> stopped; SIGKILL the one beside a",
    ],
    "removed, all stopping": [
        "process ended -> stopping",
        "exit 0 -> stopped; removed a; all stopped",
        "crash -> stopped; removed a; all stopped",
        "crash over an event -> stopped; removed a; all stopped",
        "last crash -> stopped; removed a; all stopped",
        "orderly end -> stopped; removed a; all stopped",
        "violation -> stopping; SIGKILL a",
        "goodbye -> stopping",
        "timer -> stopping; SIGTERM a",
        "replace -> draining; not replaced: nothing has been started yet, or the shutdown has begun",
        "escalate -> stopping; SIGTERM a",
    ],
    "removed": [
        "replace -> stopped; not replaced: it was removed",
        "stop -> stopped; all stopped",
        "escalate -> stopped; all stopped",
    ],
]

/// The transitions of a child that is removed in each state of the other tables, and of a child that is started as if
/// it had been added.
let expectedMembership: [String: [String]] = [
    "not started": [
        "remove -> stopped; removed a"
    ],
    "spawning": [
        "remove -> stopping; all ready"
    ],
    "spawning, to be stopped": [],
    "starting": [
        "remove -> stopping; SIGTERM a; all ready"
    ],
    "ready": [
        "remove -> draining; drain a"
    ],
    "draining": [],
    "leaving": [],
    "terminating": [],
    "killed": [],
    "process gone": [],
    "process gone, to be stopped": [],
    "restarting": [],
    "down for now": [
        "remove -> stopped; removed a"
    ],
    "stopped": [
        "remove -> stopped; removed a"
    ],
    "gave up": [
        "remove -> stopped; removed a"
    ],
    "stopping all": [],
    "all stopped": [
        "remove -> stopped; removed a"
    ],
    "on demand: dormant": [
        "remove -> stopped; removed a"
    ],
    "on demand: demanded": [
        "remove -> stopping"
    ],
    "on demand: ready": [
        "remove -> draining; drain a"
    ],
    "on demand: idle, draining": [],
    "on demand: idle, process gone": [],
    "on demand: idle, leaving": [],
    "on demand: down for now": [
        "remove -> stopped; removed a"
    ],
    "on demand: dormant again": [
        "remove -> stopped; removed a"
    ],
    "being replaced: asked for": [
        "remove -> draining; drain a"
    ],
    "being replaced: coming up": [
        "remove -> draining; drain a; SIGTERM the one beside a"
    ],
    "being replaced: coming up, the present one starting": [
        "remove -> stopping; SIGTERM a; SIGTERM the one beside a; all ready"
    ],
    "being replaced: coming up, the present one down for now": [
        "remove -> stopped; SIGTERM the one beside a"
    ],
    "being replaced: coming up, the present one killed": [
        "remove -> stopping; SIGTERM the one beside a"
    ],
    "being replaced: coming up, the present one's process gone": [
        "remove -> stopping; SIGTERM the one beside a"
    ],
    "being replaced: coming up, its process gone": [
        "remove -> draining; drain a"
    ],
    "being replaced: handing over, the present one's process gone": [
        "remove -> stopping; SIGTERM the one beside a"
    ],
    "being replaced: handing over, its process gone": [],
    "being replaced: handing over": [
        "remove -> draining; SIGTERM the one beside a"
    ],
    "being replaced: handing over, draining too long": [
        "remove -> stopping; SIGTERM the one beside a"
    ],
    "being replaced: handing over in vain": [],
    "being replaced: called off before there was a process": [
        "remove -> draining; drain a"
    ],
    "being replaced: called off": [
        "remove -> draining; drain a"
    ],
    "being replaced: replaced": [
        "remove -> draining; drain a"
    ],
]

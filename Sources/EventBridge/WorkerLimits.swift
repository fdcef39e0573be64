import BridgeProtocol
public import DomainEvents
import Supervision

/// The limits of a worker: for its link, for the crashes that one event may cause, and for its handlers and output.
///
/// Sizes are in bytes. An event counts for at least 256 bytes, and towards the hard limit for 40 more.
public struct WorkerLimits: Sendable, Hashable {
    /// How many bytes the outbox holds when `send` begins to wait; 4 MiB by default, some ten thousand small events.
    public var outbox: Int

    /// How many bytes the outbox holds when `publish` begins to drop events; 64 MiB by default.
    ///
    /// So a worker that takes no events cannot use up the memory of its supervisor. As long as the outbox holds fewer
    /// bytes than ``outbox``, it takes one more event of the policy `wait`, even if that one goes beyond this limit.
    public var outboxHardLimit: Int

    /// What becomes of events for which the outbox has no room, by event name; `*` stands for all names that are not
    /// listed.
    ///
    /// Without `*`, names that are not listed have `OverflowPolicy.wait`. The policies are for events to the worker,
    /// whichever process has published them. All events in the worker's own outbox have `OverflowPolicy.wait`.
    public var overflow: [String: OverflowPolicy]

    /// The largest frame that the worker may send, and the largest in which the host sends it an event; 16 MiB by
    /// default.
    public var frame: Int

    /// How many crashes of the worker over one event make that event a dead letter; 3 by default.
    ///
    /// If the worker breaks the protocol over the event, that counts as a crash. With nil no crash is blamed on an
    /// event: after each crash all events in the window come again, and the crash counts towards the restart
    /// intensity. That suits a worker whose crashes say nothing about its events, such as a gateway.
    public var strikes: Int?

    /// How long the worker may have one event in its handlers; nil, the default, for any time.
    ///
    /// The host kills a worker that takes longer: by SIGABRT, then by SIGKILL. That counts as a crash over the event.
    /// The event comes again, and is dead-lettered after ``strikes`` crashes. `WorkerExited.reason` names the event and
    /// the time.
    ///
    /// The time of an event with inline handlers counts from the moment at which they begin. If only queues, tasks or
    /// sequences have the event, its time counts from the moment at which no older event is unfinished. So an event
    /// that waits behind others still has all of its time. The host checks four times within the deadline: a worker
    /// gets all of it, and at most about a half more, unless the host's checks come late.
    ///
    /// The shared outbox tells the host what the worker is handling. A worker with a protocol implementation of its own
    /// that does not use the shared memory has no deadline.
    public var handlerDeadline: Duration?

    /// How much of what the worker prints is passed on, in bytes a second; 1 MiB by default.
    ///
    /// Each line counts for 64 bytes more, and the bytes of four seconds may come at once. The host reads the rest and
    /// drops it: a worker that prints without end neither waits nor uses up the supervisor's memory.
    /// ``WorkerOutputDropped`` says how much was left out.
    public var output: Int

    /// How many event names one process of the worker may want; 4,096 by default, far more than programs have.
    ///
    /// The supervisor remembers each name. The host ends a worker that goes beyond this limit, or beyond the limits
    /// below, for breaking the protocol.
    public var interestNames: Int

    /// How many event names the worker may bring that no other process of the bridge knows; 4,096 by default.
    ///
    /// The limit counts names that the worker publishes or wants, over all of its starts: the supervisor remembers each
    /// as long as it runs. A name that the supervisor's own program or another worker has named before does not count.
    /// A name that the worker brings in several starts counts once.
    public var eventNames: Int

    /// How many control messages the worker may send in a second, besides those that answer events; 1,000 by default.
    ///
    /// Four times as many may come at once. A worker at rest sends one or two a second. Each event that the worker gets
    /// allows it three answers, so that it may acknowledge as fast as it gets events.
    public var controlMessages: Int

    /// How long the worker may take for the next 4 KiB of a frame that it has begun; 5 s by default, nil for any time.
    ///
    /// The host checks four times within this time. A worker in a debugger has all the time that it needs.
    public var frameDeadline: Duration?

    /// Makes limits.
    public init(
        outbox: Int = 4 << 20,
        outboxHardLimit: Int = 64 << 20,
        overflow: [String: OverflowPolicy] = [:],
        frame: Int = 16 << 20,
        strikes: Int? = 3,
        handlerDeadline: Duration? = nil,
        output: Int = 1 << 20,
        interestNames: Int = 4_096,
        eventNames: Int = 4_096,
        controlMessages: Int = 1_000,
        frameDeadline: Duration? = .seconds(5)
    ) {
        self.outbox = outbox
        self.outboxHardLimit = outboxHardLimit
        self.overflow = overflow
        self.frame = frame
        self.strikes = strikes
        self.handlerDeadline = handlerDeadline
        self.output = output
        self.interestNames = interestNames
        self.eventNames = eventNames
        self.controlMessages = controlMessages
        self.frameDeadline = frameDeadline
    }

    /// The possible sizes of an outbox, in bytes.
    ///
    /// A smaller outbox has room for a few events only; multiples of a larger size would come near the greatest Int.
    static let possibleOutboxes = (1 << 10)...(1 << 40)

    /// The most event names that a bridge can have: decision 0005.
    private static let greatestNames = 65_536

    func validate() -> [String] {
        var mistakes: [String] = []
        if !Self.possibleOutboxes.contains(outbox) {
            mistakes.append("the outbox has \(outbox) bytes; 1 KiB to 1 TiB are possible")
        }
        if outboxHardLimit < outbox {
            mistakes.append("the outbox's hard limit (\(outboxHardLimit) bytes) is below its limit (\(outbox) bytes)")
        } else if outboxHardLimit > Self.possibleOutboxes.upperBound {
            mistakes.append("the outbox's hard limit is \(outboxHardLimit) bytes; 1 TiB is the most")
        }
        if frame < 64 << 10 || frame > 1 << 30 {
            mistakes.append("the frame limit is \(frame) bytes; 64 KiB to 1 GiB are possible")
        }
        if output < 1 << 10 || output > 1 << 30 {
            mistakes.append("the output is limited to \(output) bytes a second; 1 KiB to 1 GiB are possible")
        }
        for (what, count) in [("may want", interestNames), ("may bring", eventNames)]
        where !(1...Self.greatestNames).contains(count) {
            mistakes.append("it \(what) \(count) event names; 1 to \(Self.greatestNames) are possible")
        }
        if !(1...1_000_000).contains(controlMessages) {
            mistakes.append("it may send \(controlMessages) control messages a second; 1 to 1000000 are possible")
        }
        if let frameDeadline { mistakes += frameDeadline.mistakes(as: "the frames' deadline", mayBeZero: false) }
        for (name, policy) in overflow.sorted(by: { $0.key < $1.key }) {
            let mistake = EventName.mistake(in: name, mayBeEverything: true)
            if let mistake { mistakes.append("overflow: \(mistake)") }
            if policy == .latest(by: "") { mistakes.append("overflow: \(name): found an empty name of a field") }
        }
        if let strikes, strikes < 1 { mistakes.append("an event may cause \(strikes) crashes; 1 is the least") }
        if let handlerDeadline { mistakes += handlerDeadline.mistakes(as: "the handlers' deadline", mayBeZero: false) }
        return mistakes
    }

    var link: LinkLimits {
        var limits = LinkLimits()
        limits.outboxBytes = outbox
        limits.outboxHardBytes = outboxHardLimit
        limits.overflow = OverflowPolicies(overflow)
        limits.frameBytes = frame
        limits.interestNames = interestNames
        limits.newEventNames = eventNames
        limits.controlMessages = controlMessages
        return limits
    }
}

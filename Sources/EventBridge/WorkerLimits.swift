import BridgeProtocol
public import DomainEvents
import Supervision

/// How much the link to a worker holds and takes, in bytes, how many crashes one event may cause, and how long its
/// handlers may take.
///
/// An event counts for at least 256 bytes, and towards the hard limit for 40 more.
public struct WorkerLimits: Sendable, Hashable {
    /// Where `send` begins to wait for room; 4 MiB by default, some ten thousand small events.
    public var outbox: Int

    /// Where `publish` begins to drop; 64 MiB by default, so that a worker that has stopped cannot take the memory of
    /// its supervisor.
    public var outboxHardLimit: Int

    /// What becomes of events for which the outbox has no room, by event name; `*` stands for all that are not named.
    ///
    /// Whatever is not named waits: `OverflowPolicy.wait`. For events to the worker, from here and from other
    /// workers; its own outbox, which outlives it, always waits.
    public var overflow: [String: OverflowPolicy]

    /// The largest frame in either direction; 16 MiB by default.
    public var frame: Int

    /// After how many crashes of the worker over one event that event is dead-lettered; 3 by default.
    ///
    /// To break the protocol over it counts as a crash.
    public var strikes: Int

    /// How long the worker may have one event in its handlers; nil, the default, for as long as they like.
    ///
    /// A worker that takes longer is killed: by SIGABRT, then by SIGKILL. That counts as a crash over the event, which
    /// comes again, and is dead-lettered after as many ``strikes``. `WorkerExited.reason` names the event and the time.
    ///
    /// The time of an event whose plain handlers run counts from the moment in which they begin; that of an event that
    /// is with queues, tasks or sequences only, from when no older one is unfinished. So events that wait for their
    /// turn behind others have all of their time before them. The host looks four times within it: it passes in full,
    /// and by a quarter more at the most.
    ///
    /// The host sees what the worker is at in the outbox that both share. A worker that speaks the protocol by other
    /// means and does not use the shared memory has no deadline.
    public var handlerDeadline: Duration?

    /// How much of what the worker prints is passed on, in bytes a second, each line with 64 bytes more; 1 MiB by
    /// default.
    ///
    /// Four times as much may come at once. What is more is read and left out, so that a worker that prints without end
    /// neither waits nor takes the supervisor's memory; ``WorkerOutputDropped`` says how much it was.
    public var output: Int

    /// How many event names the worker may want, in all of its life; 4,096 by default, far more than programs have.
    ///
    /// The supervisor remembers each. Beyond this, and beyond the limits that follow, the worker is ended for breaking
    /// the protocol.
    public var interestNames: Int

    /// How many event names, published or wanted, the worker may bring that no other process of the bridge knows, over
    /// all of its starts; 4,096 by default.
    ///
    /// The supervisor remembers each as long as it runs. What the supervisor's own program or another worker has named
    /// before does not count, so that a worker which is started again has brought nothing new.
    public var eventNames: Int

    /// How many control messages the worker may send in a second beside those that answer events; 1,000 by default.
    ///
    /// Four times as many may come at once. A worker at rest sends one or two a second. Each event pays for three
    /// answers, so that it may acknowledge as fast as it gets events.
    public var controlMessages: Int

    /// How long a frame that the worker has begun may make no progress, by 4 KiB at least; 5 s by default, nil for any
    /// time.
    ///
    /// The host looks four times within it. A worker in a debugger has all the time that it needs.
    public var frameDeadline: Duration?

    /// Makes limits.
    public init(
        outbox: Int = 4 << 20,
        outboxHardLimit: Int = 64 << 20,
        overflow: [String: OverflowPolicy] = [:],
        frame: Int = 16 << 20,
        strikes: Int = 3,
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

    /// Below, there is room for a handful of events only; beyond, multiples of it would come near the end of the
    /// numbers.
    static let possibleOutboxes = (1 << 10)...(1 << 40)

    /// As many names as a bridge can have: decision 0005.
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
            if policy == .latest(by: "") { mistakes.append("overflow: \(name): a field's name is not empty") }
        }
        if strikes < 1 { mistakes.append("an event may cause \(strikes) crashes; 1 is the least") }
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

/// The ways in which `faulty-worker` goes wrong, by the names that its `--misbehave` takes.
///
/// EVENT in a name is either `WorkRequested`, which stands for every request, or the text of the requests that are
/// meant.
enum Misbehaviour: Equatable {
    // MARK: Before the hello

    /// `crash-before-hello`: dies of SIGABRT at once.
    case crashBeforeHello
    /// `exit-early`: ends at once with status 0.
    case exitEarly
    /// `no-hello`: reads and never says a word.
    case noHello
    /// `bad-version`: speaks a version of the protocol that no other program speaks.
    case badVersion
    /// `garbage`: speaks another protocol altogether.
    case garbage

    // MARK: After the handshake, in raw frames

    /// `torn-frame`: ends in the middle of a frame.
    case tornFrame
    /// `huge-frame`: announces a frame of 2 GiB.
    case hugeFrame
    /// `deep-payload`: sends an event whose payload is nested 100,000 deep.
    case deepPayload
    /// `flood-window`: sends events without end, far more than it was granted.
    case floodWindow
    /// `slow-frame`: sends a frame byte by byte, about 50 a second, and never finishes it.
    case slowFrame
    /// `flood-control`: shows signs of life without end.
    case floodControl
    /// `flood-names`: sends events under ever new names.
    case floodNames
    /// `flood-interest`: wants events of ever new names.
    case floodInterest
    /// `name-all`: sends an event under the name that stands for all events.
    case nameAll
    /// `command`: asks its host to drain, which only a host may ask for.
    case command
    /// `ignore-sigterm`: looks alive, but does not stop when asked by drain, the end of the link, or SIGTERM.
    case ignoreTermination

    // MARK: In a worker that works otherwise

    /// `none`: answers each `WorkRequested` with a `WorkDone`.
    case none
    /// `flood`: answers each request with as many events as its number says.
    case flood
    /// `burst`: the handler publishes as many events as the request's number says. After each `publish` it writes the
    /// count into the file that the request's text names, and waits to be killed at the end. If there is no such file,
    /// the worker dies of SIGKILL at the end. A second delivery of the request does nothing.
    case burst
    /// `burst-outside`: the same, on a thread of its own, while another thread reads the link.
    case burstOutside
    /// `burst-held`: as `burst`, after it has left a process behind that holds the link and the outbox.
    case burstHeld
    /// `scribble`: as `burst`, but before it dies it overwrites the memory that it shares with the host; the request's
    /// number is the seed.
    case scribble
    /// `flood-stdout`: writes as many lines to standard output and standard error as the request's number says, then
    /// answers.
    case floodOutput
    /// `hang`: the handler never returns.
    case hang
    /// `hang-on:EVENT`: the handler never returns, each time.
    case hangOn(String)
    /// `hang-once-on:EVENT`: the handler never returns when the event is delivered for the first time.
    case hangOnceOn(String)
    /// `spin`: the handler never returns and keeps a processor busy.
    case spin
    /// `grandchild`: leaves a process behind that holds standard output and standard error open.
    case grandchild
    /// `leak-descriptor`: leaves a process behind that holds the link open too.
    case leakDescriptor
    /// `daemon`: leaves a process behind that is in a session of its own.
    case daemon
    /// `write-after-death`: leaves a process behind, in a session of its own, that writes to the link once the worker
    /// is dead.
    case writeAfterDeath
    /// `exceed-file-size`: writes more into a file than it may, in the handler, and is killed for it.
    case exceedFileSize
    /// `allocate`: takes memory without end, in the handler.
    case allocate
    /// `reach`: tries what the request's text says, and answers with the result: see ``Reach``.
    case reach
    /// `slow:DURATION`: takes this time, such as `250ms` or `2s`, for each request.
    case slow(milliseconds: UInt32)
    /// `crash-on:EVENT`: dies of SIGABRT in the handler, each time.
    case crash(on: String)
    /// `crash-once-on:EVENT`: dies of SIGABRT in the handler when the event is delivered for the first time.
    case crashOnce(on: String)
    /// `trap-on:EVENT`: prints a line and traps in the handler, as an index that is out of range does, each time.
    case trap(on: String)
    /// `crash-beside:EVENT`: dies of SIGABRT in the handler, each time. An async handler answers other requests; it
    /// never answers the first delivery of a request with the text `waits`, which is open when the worker dies.
    case crashBeside(on: String)
    /// `crash-unless:PATH`: dies of SIGABRT in the handler, each time, while there is no file of this name.
    case crashUnless(path: String)
    /// `exit-on:EVENT`: ends with status 0 in the handler.
    case exit(on: String)
    /// `misconfigured-on:EVENT`: ends with status 78 in the handler, as if its configuration were wrong.
    case misconfigured(on: String)
    /// `throw-on:EVENT`: the handler throws.
    case fail(on: String)
    /// `violate-on:EVENT`: the handler writes bytes to the link that are no frame, and answers.
    case violate(on: String)

    private static let plain: [String: Misbehaviour] = [
        "crash-before-hello": .crashBeforeHello, "exit-early": .exitEarly, "no-hello": .noHello,
        "bad-version": .badVersion, "garbage": .garbage, "torn-frame": .tornFrame, "huge-frame": .hugeFrame,
        "deep-payload": .deepPayload, "flood-window": .floodWindow, "slow-frame": .slowFrame,
        "flood-control": .floodControl, "flood-names": .floodNames, "flood-interest": .floodInterest,
        "name-all": .nameAll,
        "command": .command, "ignore-sigterm": .ignoreTermination,
        "none": .none, "flood": .flood, "flood-stdout": .floodOutput, "hang": .hang, "spin": .spin,
        "grandchild": .grandchild, "leak-descriptor": .leakDescriptor, "burst": .burst,
        "burst-outside": .burstOutside, "burst-held": .burstHeld, "scribble": .scribble,
        "daemon": .daemon, "write-after-death": .writeAfterDeath, "exceed-file-size": .exceedFileSize,
        "allocate": .allocate, "reach": .reach,
    ]

    /// The misbehaviour of this name; nil if there is none.
    init?(named name: String) {
        if let plain = Self.plain[name] {
            self = plain
            return
        }
        guard let colon = name.firstIndex(of: ":") else { return nil }
        let value = String(name[name.index(after: colon)...])
        guard !value.isEmpty else { return nil }
        switch name[..<colon] {
        case "slow":
            guard let milliseconds = Self.milliseconds(value) else { return nil }
            self = .slow(milliseconds: milliseconds)
        case "hang-on": self = .hangOn(value)
        case "hang-once-on": self = .hangOnceOn(value)
        case "crash-on": self = .crash(on: value)
        case "crash-once-on": self = .crashOnce(on: value)
        case "trap-on": self = .trap(on: value)
        case "crash-beside": self = .crashBeside(on: value)
        case "crash-unless": self = .crashUnless(path: value)
        case "exit-on": self = .exit(on: value)
        case "misconfigured-on": self = .misconfigured(on: value)
        case "throw-on": self = .fail(on: value)
        case "violate-on": self = .violate(on: value)
        default: return nil
        }
    }

    private static func milliseconds(_ text: String) -> UInt32? {
        if text.hasSuffix("ms") { return UInt32(text.dropLast(2)) }
        guard text.hasSuffix("s"), let seconds = UInt32(text.dropLast()) else { return nil }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : product
    }

    /// All names, for a message.
    static var names: String {
        let valued = [
            "crash-on:EVENT", "crash-once-on:EVENT", "crash-beside:EVENT", "crash-unless:PATH", "exit-on:EVENT",
            "hang-on:EVENT", "hang-once-on:EVENT", "misconfigured-on:EVENT", "slow:DURATION", "throw-on:EVENT",
            "trap-on:EVENT", "violate-on:EVENT",
        ]
        return (plain.keys + valued).sorted().joined(separator: ", ")
    }
}

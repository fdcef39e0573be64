/// Decides what becomes of the events that a node exports: a value that touches neither broker nor clock.
///
/// Each message names the one that it follows: by place and, except for the first message after a look at the stream,
/// by identity. So the stream holds only this gateway's events, each once and in order. (The place alone is not enough:
/// a message of another writer could take the place of a message that was refused. The identity alone is not enough
/// either: a broker that ends forgets the last identity, and a message without an identity does not change it.) An
/// event is acknowledged to the host when the broker has stored it. In any doubt the machine looks at the stream's end,
/// and sends again the events that are not there.
struct ExportMachine<Event: Sendable>: Machine {
    enum Input: Sendable {
        /// `isRepeat` says whether the host has given the event to a process of this gateway before.
        case eventArrived(id: String, isRepeat: Bool, Event)
        case connected
        case disconnected
        case tailLearned(Tail)
        case tailUnknown(String)
        case answered(round: UInt64, number: UInt64, PublishAnswer)
        case timeOver
    }

    enum Action: Sendable {
        /// `withRecent` asks for the identities of the last messages, too.
        case askForTail(withRecent: Bool)
        /// `isFirst` says that the broker owes no answer to a message before this one.
        case publish(Event, Predecessor, round: UInt64, number: UInt64, isFirst: Bool)
        case acknowledge(Event)
        /// The event can never be stored; the text says why.
        case refuse(Event, String)
        /// Replaces the timer that runs.
        case startTimer(Duration)
        case stopTimer
        case report(String)
        /// Another gateway writes in the name of this node: this one must end.
        case end(String)
    }

    /// What a message must follow, or else the broker refuses it.
    struct Predecessor: Equatable {
        var sequence: UInt64
        /// Nil where the broker may not know it any more.
        var identity: String?
    }

    private enum State {
        case disconnected
        /// Waits for the end of the stream.
        case asking
        case publishing
        /// Waits before it asks again.
        case pausing
        case ended
    }

    private struct Item {
        let id: String
        let event: Event
    }

    static var timeOver: Input { .timeOver }

    /// If the broker has not answered in this time, the machine asks for the stream's end.
    static var patience: Duration { .seconds(5) }
    /// The time between two attempts while the broker cannot store.
    static var pause: Duration { .milliseconds(250) }

    private let window: Int
    private var state = State.disconnected
    /// The events that are not acknowledged to the host, in order; the first `inFlight` were sent to the broker.
    private var queue = Fifo<Item>()
    private var inFlight = 0
    /// The number of the queue's first event among all events of this gateway.
    private var firstNumber: UInt64 = 0
    /// The end of the stream: as of the last look, and with what has been stored since.
    private var known: Tail?
    /// What the next message must follow.
    private var predecessor = Predecessor(sequence: 0)
    /// Counts the looks at the stream: an answer of an earlier round is ignored.
    private var round: UInt64 = 0
    /// Whether to send one message at a time, because the broker could not store the last one.
    private var isProbing = false
    /// Whether the broker has answered that it stored a message of this process.
    private var hasStored = false
    /// The trouble that was reported last; nil while all is well.
    private var trouble: String?
    private var actions: [Action] = []

    /// - Parameter window: how many sent messages may be without the broker's answer.
    init(window: Int) {
        self.window = window
    }

    mutating func handle(_ input: Input) -> [Action] {
        // Enough for a lone event, in one piece of memory.
        actions.reserveCapacity(4)
        defer { actions.removeAll() }
        if case .ended = state { return [] }
        switch input {
        case .eventArrived(let id, let isRepeat, let event): arrive(Item(id: id, event: event), isRepeat)
        case .connected: ask()
        case .disconnected:
            state = .disconnected
            inFlight = 0
            actions.append(.stopTimer)
        case .tailLearned(let tail):
            if case .asking = state { learn(tail) }
        case .tailUnknown(let reason):
            if case .asking = state { wait(reason) }
        case .answered(let round, let number, let answer):
            if case .publishing = state, round == self.round { settle(number, answer) }
        case .timeOver: timeOver()
        }
        return actions
    }

    private mutating func arrive(_ item: Item, _ isRepeat: Bool) {
        // The last gateway may have died between the broker's answer and the acknowledgement.
        if isRepeat, let known, known.recent.contains(item.id) {
            actions.append(.acknowledge(item.event))
            return
        }
        queue.append(item)
        publish()
    }

    private mutating func publish() {
        guard case .publishing = state else { return }
        let limit = isProbing ? 1 : window
        while inFlight < limit, inFlight < queue.count {
            let item = queue[inFlight]
            let number = firstNumber + UInt64(inFlight)
            let isFirst = inFlight == 0
            if isFirst { actions.append(.startTimer(Self.patience)) }
            actions.append(.publish(item.event, predecessor, round: round, number: number, isFirst: isFirst))
            predecessor = Predecessor(sequence: predecessor.sequence + 1, identity: item.id)
            inFlight += 1
        }
    }

    private mutating func ask() {
        state = .asking
        inFlight = 0
        round += 1
        actions += [.stopTimer, .askForTail(withRecent: known == nil)]
    }

    private mutating func wait(_ reason: String) {
        state = .pausing
        inFlight = 0
        if trouble != reason {
            trouble = reason
            actions.append(.report("events wait, because \(reason)"))
        }
        actions.append(.startTimer(Self.pause))
    }

    private mutating func timeOver() {
        switch state {
        case .pausing: ask()
        case .publishing where inFlight > 0: ask()
        case .publishing, .asking, .disconnected, .ended: break
        }
    }

    // MARK: - The broker's answers

    private mutating func settle(_ number: UInt64, _ answer: PublishAnswer) {
        guard number >= firstNumber, number - firstNumber < UInt64(inFlight) else { return }
        let index = Int(number - firstNumber)
        switch answer {
        case .stored:
            // A message is stored only behind its predecessor, so all before it are stored too.
            acknowledge(index + 1)
            isProbing = false
            hasStored = true
            if let trouble {
                self.trouble = nil
                actions.append(.report("events are stored again (\(trouble))"))
            }
            actions.append(inFlight > 0 ? .startTimer(Self.patience) : .stopTimer)
            publish()
        case .wasStored where index == 0:
            // The message is somewhere in the stream, so the stream's end is as unknown as at the start.
            acknowledge(1)
            known = nil
            ask()
        case .impossible(let reason) where index == 0:
            refuseFirst(reason)
            ask()
        case .wasStored, .notInTurn: ask()
        case .impossible(let reason), .notNow(let reason):
            isProbing = true
            wait(reason)
        }
    }

    private mutating func acknowledge(_ count: Int) {
        for _ in 0..<count {
            guard let item = queue.popFirst() else { break }
            actions.append(.acknowledge(item.event))
            known?.sequence += 1
            known?.last = item.id
        }
        firstNumber += UInt64(count)
        inFlight = max(0, inFlight - count)
    }

    private mutating func refuseFirst(_ reason: String) {
        guard let item = queue.popFirst() else { return }
        actions.append(.refuse(item.event, reason))
        firstNumber += 1
        inFlight -= 1
    }

    // MARK: - The stream's end

    private mutating func learn(_ tail: Tail) {
        if let known {
            guard tail.created == known.created, tail.sequence >= known.sequence else {
                let what =
                    tail.created == known.created
                    ? "went back from message \(known.sequence) to \(tail.sequence)" : "is another one than before"
                actions.append(.report("the stream \(what): what was stored since is gone from it"))
                // The machine looks at the stream again, like a gateway that begins.
                self.known = nil
                ask()
                return
            }
            guard let stored = countStored(of: tail, since: known) else {
                // A process before this one may have been killed with messages on their way. They name what they
                // follow, so none of them is stored after the first message of this process.
                guard hasStored else {
                    self.known = nil
                    return ask()
                }
                state = .ended
                actions += [.stopTimer, .end("another gateway writes to the stream of this node")]
                return
            }
            acknowledge(stored)
        } else {
            known = tail
            acknowledgeRecent(of: tail)
        }
        predecessor = Predecessor(sequence: tail.sequence)
        state = .publishing
        publish()
    }

    /// How many events of the queue the stream has got since the last look; nil if another writer has written to it.
    private func countStored(of tail: Tail, since known: Tail) -> Int? {
        let grown = tail.sequence - known.sequence
        guard grown > 0 else { return tail.last == known.last || tail.last == nil ? 0 : nil }
        guard grown <= UInt64(queue.count) else { return nil }
        let id = queue[Int(grown) - 1].id
        return tail.last == id || tail.last == nil ? Int(grown) : nil
    }

    private mutating func acknowledgeRecent(of tail: Tail) {
        guard !tail.recent.isEmpty else { return }
        actions += queue.remove { tail.recent.contains($0.id) }.map { .acknowledge($0.event) }
    }
}

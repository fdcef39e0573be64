/// The state of a ``ReceiptLedger``: whose receipts are missing, and which failures the caller may get.
///
/// A caller gets at most one failure. As long as its call runs, it is undecided which one, so all are held. When the
/// call ends, that failure (if any) is claimed, and the others are reported as if no caller had waited.
struct ReceiptState {
    /// What becomes of a failure.
    enum Claim: Hashable {
        /// The caller gets it.
        case claimed
        /// The caller gets something else, or nothing.
        case unclaimed
        /// The call still runs.
        case undecided
    }

    /// What the caller's wait ends with, unless it has ended already.
    enum Outcome: Sendable {
        /// - Parameter held: the number of the failure, for ``ReceiptState/ended(claiming:)``; nil if the ledger does
        ///   not hold the error.
        case failed(any Error, held: Int?)
        /// Every process has sent its receipt.
        case handled([String: Int])
    }

    typealias WhenDecided = ReceiptLedger.WhenDecided

    private struct Failure {
        let process: AwaitedProcess
        let error: any Error
        let isRefusal: Bool
        var whenDecided: [WhenDecided]
    }

    private enum Phase {
        case running
        /// The call has ended; the caller got the refusal of `claimed`, or anything else if `claimed` is nil.
        case over(claimed: AwaitedProcess?)
    }

    private let endsAtFirstFailure: Bool
    private var phase = Phase.running
    /// Whether this process's receipt is missing; `awaited` leaves it out, as most events go to no other process.
    private var awaitsOwn = false
    /// The receipt of this process; nil until it has come.
    private var own: (name: String, handlers: Int)?
    /// The other processes that have still to send their receipts.
    private var awaited: Set<AwaitedProcess> = []
    /// The handlers that have returned in each other process that has sent its receipt.
    private var handlers: [AwaitedProcess: Int] = [:]
    /// Why the bridges that have ended send no receipts any more.
    private var ends: [ObjectIdentifier: any Error] = [:]
    /// The failures of a running call, in the order in which they became known; a failure's number is its place.
    private var failures: [Failure] = []

    /// - Parameter endsAtFirstFailure: whether the wait ends as soon as one process has failed, before all receipts
    ///   have come.
    init(endsAtFirstFailure: Bool) {
        self.endsAtFirstFailure = endsAtFirstFailure
    }

    /// The event goes to a process, which will send a receipt; if its bridge has ended, the wait ends.
    mutating func expected(_ process: AwaitedProcess) -> Outcome? {
        guard let bridge = process.bridge else {
            awaitsOwn = own == nil
            return nil
        }
        if handlers[process] == nil { awaited.insert(process) }
        return ends[bridge].map { early($0) }
    }

    /// A process has sent its receipt, or has refused the event, which counts as a receipt.
    ///
    /// The first receipt of each process counts. A refusal that comes later belongs to the same failure if that receipt
    /// was a refusal as well, and otherwise is a failure of its own.
    /// - Parameter whenDecided: given for a refusal; nil for a receipt.
    mutating func received(_ receipt: ProcessReceipt, _ whenDecided: WhenDecided?) -> (Claim, Outcome?) {
        let bridge = receipt.process.bridge
        let isFirst = bridge == nil ? own == nil : handlers[receipt.process] == nil
        guard isFirst || whenDecided != nil else { return (.undecided, nil) }
        var claim = Claim.undecided
        if let failure = receipt.failure {
            claim = failed(failure, at: receipt.process, isRefusal: receipt.isRefusal, whenDecided)
        }
        guard isFirst else { return (claim, nil) }
        if let bridge {
            handlers[receipt.process] = receipt.handlers
            awaited.remove(receipt.process)
            for name in receipt.passedOnTo {
                let process = AwaitedProcess(name, of: bridge)
                if handlers[process] == nil { awaited.insert(process) }
            }
        } else {
            own = (receipt.process.name, receipt.handlers)
            awaitsOwn = false
        }
        return (claim, outcome(of: receipt.process))
    }

    /// A process has failed; its receipt may come later.
    mutating func failed(
        _ error: any Error,
        at process: AwaitedProcess,
        isRefusal: Bool = false,
        _ whenDecided: WhenDecided?
    ) -> Claim {
        switch phase {
        case .over(let claimed):
            return isRefusal && process == claimed ? .claimed : .unclaimed
        case .running:
            if isRefusal, let known = failures.firstIndex(where: { $0.isRefusal && $0.process == process }) {
                if let whenDecided { failures[known].whenDecided.append(whenDecided) }
            } else {
                let held = whenDecided.map { [$0] } ?? []
                failures.append(Failure(process: process, error: error, isRefusal: isRefusal, whenDecided: held))
            }
            return .undecided
        }
    }

    /// An outbox has not taken the event, so the wait ends.
    mutating func lost(
        _ error: any Error,
        at process: AwaitedProcess,
        _ whenDecided: @escaping WhenDecided
    ) -> (Claim, Outcome?) {
        let claim = failed(error, at: process, whenDecided)
        return (claim, claim == .undecided ? early(error) : nil)
    }

    /// A bridge has ended, so its processes send no receipts any more.
    mutating func bridgeEnded(_ bridge: ObjectIdentifier, _ error: any Error) -> Outcome? {
        ends[bridge] = error
        return awaited.contains { $0.bridge == bridge } ? early(error) : nil
    }

    /// The outcome of a wait that ends before all receipts have come: the first failure, which would have been the
    /// outcome in the end, or this error if there is no failure.
    func early(_ error: any Error) -> Outcome { failures.isEmpty ? .failed(error, held: nil) : outcome(failure: 0) }

    /// The call has ended.
    ///
    /// - Parameter number: the number of the failure that the caller gets; nil if it is none of these.
    /// - Returns: The closures that were held, each with whether its failure is claimed.
    mutating func ended(claiming number: Int?) -> [(whenDecided: WhenDecided, isClaimed: Bool)] {
        guard case .running = phase else { return [] }
        let claimed = number.map { failures[$0] }
        phase = .over(claimed: claimed?.isRefusal == true ? claimed?.process : nil)
        defer { failures = [] }
        return failures.enumerated().flatMap { index, failure in
            failure.whenDecided.map { (whenDecided: $0, isClaimed: index == number) }
        }
    }

    private func outcome(of process: AwaitedProcess) -> Outcome? {
        if endsAtFirstFailure, let number = failures.firstIndex(where: { $0.process == process }) {
            return outcome(failure: number)
        }
        guard !awaitsOwn, awaited.isEmpty else { return nil }
        if !failures.isEmpty { return outcome(failure: 0) }
        var named: [String: Int] = [:]
        if let own, own.handlers > 0 { named[own.name] = own.handlers }
        for (process, count) in handlers where count > 0 { named[process.name, default: 0] += count }
        return .handled(named)
    }

    private func outcome(failure number: Int) -> Outcome { .failed(failures[number].error, held: number) }

    // MARK: - The other processes

    /// The names of the other processes whose receipts are missing, sorted.
    var unheard: [String] { Self.names(of: awaited) }

    /// The names of the other processes that have handled the event, sorted.
    var handled: [String] { Self.names(of: handlers.filter { $0.value > 0 }.keys) }

    private static func names(of processes: some Sequence<AwaitedProcess>) -> [String] {
        Set(processes.map(\.name)).sorted()
    }
}

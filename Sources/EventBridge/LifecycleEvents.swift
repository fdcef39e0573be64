public import DomainEvents

/// A worker has finished its handshake and subscribed to what it has to.
public struct WorkerReady: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Its process.
    public let pid: Int32
    /// How often it has been started; 1 the first time.
    public let start: Int
}

/// A worker's process has ended, or could not be started.
public struct WorkerExited: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The process that has ended; nil if there was none.
    public let pid: Int32?
    /// Why, as a phrase that goes on from the name: `killed by SIGKILL (9)`.
    public let reason: String
    /// What is done about it, such as `backing off (attempt 1)` or `stopped`.
    public let next: String
    /// Whether it was asked to end.
    public let wasAsked: Bool
}

/// A worker stays down, because starting it again was of no use.
public struct WorkerGaveUp: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Why, in words.
    public let reason: String
}

/// A worker has written a line to its standard output or standard error.
public struct WorkerOutput: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Whether it was standard error.
    public let isError: Bool
    /// The line without its end; longer ones than 16 KiB come in pieces.
    public let line: String
}

import DomainEvents

/// Compares specifications by the bytes of their texts, as the operating system and the wire protocol do.
extension WorkerSpecification {
    /// Whether both specifications are equal even in the bytes of their texts: equal Swift strings may differ in bytes.
    ///
    /// This does not compare the keys of pools, which cannot change while the bridge runs.
    func isSpelled(like other: WorkerSpecification) -> Bool {
        self == other && texts.elementsEqual(other.texts) { $0.hasBytes(of: $1) }
    }

    /// The names of programs, files and events, and what the process is told, in an order that equal specifications
    /// share.
    private var texts: [String] {
        [child.executable.name, child.workingDirectory ?? ""] + child.arguments
            + child.environment.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
            + subscribes + (publishes ?? [])
            + (box?.files.map { $0.readOnly + $0.writable } ?? [])
    }
}

import BridgePlatform

/// The values that the supervisor has put into a worker's environment: the descriptors of link, outbox and shelf, and
/// the worker's name and cookie.
///
/// The worker reads these variables once, before its session begins, and erases them. Otherwise a program that the
/// worker starts later would take them for its own.
struct InheritedLink: ~Copyable {
    enum Variable {
        static let descriptor = "EVENT_BRIDGE_FD"
        static let name = "EVENT_BRIDGE_NAME"
        static let cookie = "EVENT_BRIDGE_COOKIE"
        static let outbox = "EVENT_BRIDGE_OUTBOX_FD"
        static let shelf = "EVENT_BRIDGE_SHELF_FD"
    }

    let socket: FileDescriptor
    let name: String
    let cookie: String
    /// The memory for the outbox; nil if the supervisor shares none.
    let memory: MemoryFile?
    /// The memory with the supervisor's large events; nil if they all come over the link.
    let shelf: MemoryFile?

    /// Takes the values out of the environment, and checks the link.
    static func take() throws(WorkerError) -> InheritedLink {
        let number = CurrentProcess.environment(Variable.descriptor)
        let name = CurrentProcess.environment(Variable.name)
        let cookie = CurrentProcess.environment(Variable.cookie)
        let memory = takeMemory(Variable.outbox)
        let shelf = takeMemory(Variable.shelf)
        for variable in [Variable.descriptor, Variable.name, Variable.cookie, Variable.outbox, Variable.shelf] {
            CurrentProcess.unsetEnvironment(variable)
        }
        guard let number, let name, let cookie else {
            throw WorkerError(
                .notStartedBySupervisor,
                """
                this is a worker of an event bridge: a supervisor starts it and gives it a link; \
                list it in a configuration and run `supervisor run`
                """
            )
        }
        guard let descriptor = CInt(number), descriptor > 2, FileDescriptor.isSocket(descriptor) else {
            throw WorkerError(.unusableLink, "\(Variable.descriptor) names \"\(number)\", which is not an open socket")
        }
        do {
            try FileDescriptor.setCloseOnExec(descriptor)
        } catch {
            throw WorkerError(.unusableLink, "the link cannot be used: \(error)")
        }
        return InheritedLink(
            socket: FileDescriptor(owning: descriptor),
            name: name,
            cookie: cookie,
            memory: memory,
            shelf: shelf
        )
    }

    /// The memory whose descriptor a variable names; nil if there is none.
    ///
    /// Without memory for the outbox, events that the worker has published and not sent are lost if the worker dies.
    /// Without memory for large events, these come over the link.
    private static func takeMemory(_ variable: String) -> MemoryFile? {
        guard let number = CurrentProcess.environment(variable).flatMap({ CInt($0) }), number > 2,
            (try? FileDescriptor.setCloseOnExec(number)) != nil
        else { return nil }
        return MemoryFile(inherited: FileDescriptor(owning: number))
    }
}

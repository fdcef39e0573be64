package import BridgePlatform

/// A listening socket that a service manager has made, and passes to this process: systemd's socket activation.
///
/// The socket's file is the manager's: this process does not lock, check or remove it. If a peer connects after this
/// process's end, the manager starts the next process.
package final class PassedSocket: ListeningSocket {
    package let path: String
    package let user: UInt32
    package let socket: SharedDescriptor

    /// Takes the one socket that a service manager has passed, and removes from the environment the variables
    /// that announce the socket.
    ///
    /// Call this at the beginning of `main`: it changes the environment. It also closes the passed descriptor if there
    /// is only one, and that one is not fit. A second call finds nothing to take.
    /// - Returns: The socket; nil if no manager has passed anything.
    package static func take(user: UInt32 = CurrentProcess.user) throws(PassedSocketError) -> PassedSocket? {
        defer { PassedDescriptors.forget() }
        let passed: PassedDescriptors?
        do {
            passed = try PassedDescriptors(environment: CurrentProcess.environment, process: CurrentProcess.identifier)
        } catch {
            throw .descriptors(error)
        }
        guard let passed else { return nil }
        return try take(from: passed, user: user)
    }

    /// Takes the one descriptor that was passed; throws if there are several, which stay open but are not inherited.
    package static func take(
        from passed: PassedDescriptors,
        user: UInt32 = CurrentProcess.user
    ) throws(PassedSocketError) -> PassedSocket {
        guard passed.numbers.count == 1 else {
            // Not closed: other code of this program may have taken some of them. The count comes from outside and may
            // be huge, so the loop is over the open descriptors.
            let open = (try? CurrentProcess.openDescriptors()) ?? Array(passed.numbers.prefix(1_024))
            for number in open where passed.numbers.contains(number) { try? FileDescriptor.setCloseOnExec(number) }
            throw .several(passed.numbers.count, names: passed.names)
        }
        return try PassedSocket(owning: passed.numbers.lowerBound, named: passed.names.first, user: user)
    }

    /// Takes ownership of a descriptor, which no other code may close from now on; closes the descriptor if it is not
    /// fit.
    ///
    /// - Parameter name: the manager's name for the descriptor; nil if it gave none.
    package init(owning number: CInt, named name: String?, user: UInt32 = CurrentProcess.user) throws(PassedSocketError)
    {
        let kind: UnixSocket.Kind
        do {
            kind = try UnixSocket.kind(of: number)
        } catch {
            FileDescriptor(owning: number).close()
            throw .system(number, error)
        }
        guard case .listening(let path?) = kind else {
            if kind != .notOpen { FileDescriptor(owning: number).close() }
            throw .unfit(number, name: name, kind)
        }
        self.path = path
        self.user = user
        socket = SharedDescriptor(FileDescriptor(owning: number))
        do {
            try FileDescriptor.setCloseOnExec(number)
            try FileDescriptor.setNonBlocking(number)
        } catch {
            throw .system(number, error)
        }
    }

    package func look() -> NamedSocket.Place { .own }

    package func recreate() throws(NamedSocketError) {}

    package func remove() {}
}

extension PassedSocket: Hashable {
    package static func == (left: PassedSocket, right: PassedSocket) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Why a socket that a service manager passes is not taken.
package enum PassedSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    case descriptors(PassedDescriptorsError)
    case several(Int, names: [String])
    case unfit(CInt, name: String?, UnixSocket.Kind)
    case system(CInt, SystemError)

    package var description: String {
        switch self {
        case .descriptors(let error): error.description
        case .several(let count, let names):
            """
            the service manager passes \(count) descriptors\(names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"); expected one, the \
            control socket
            """
        case .unfit(let number, let name, let kind):
            """
            the descriptor \(number)\(name.map { " (\($0))" } ?? "") that the service manager passes \(kind.phrase); expected a listening \
            stream socket with a path (ListenStream=/…)
            """
        case .system(let number, let error):
            "the descriptor \(number) that the service manager passes cannot be used: \(error)"
        }
    }
}

extension UnixSocket.Kind {
    /// What the descriptor is, as the predicate of a sentence about it.
    fileprivate var phrase: String {
        switch self {
        case .listening(_?): "listens at a path"
        case .listening(nil): "is a socket without a path"
        case .notListening: "is a socket at which no process listens"
        case .notStream: "is a socket for datagrams or packets"
        case .notLocal: "is a socket of another family"
        case .noSocket: "is no socket"
        case .notOpen: "is not open"
        }
    }
}

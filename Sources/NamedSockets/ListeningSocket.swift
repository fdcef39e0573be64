package import BridgePlatform

/// A socket with a name in the file system, at which a ``SocketListener`` accepts connections.
package protocol ListeningSocket: AnyObject, Sendable {
    /// The absolute path.
    var path: String { get }
    /// The user that may connect.
    var user: UInt32 { get }
    /// The listening socket; it may be another one after ``recreate()``.
    var socket: SharedDescriptor { get }

    /// Finds out what is at the path now.
    func look() -> NamedSocket.Place

    /// Makes the socket's file anew after it was removed; connected peers stay connected.
    ///
    /// Throws if another file lies at the path by now, and may not be removed.
    func recreate() throws(NamedSocketError)

    /// Removes the files that this process has made for the socket, so that no process finds the socket any more.
    ///
    /// A socket that a service manager has passed stays: its file is the manager's.
    func remove()
}

package import BridgePlatform

/// Where processes that the host has not started connect: a socket with a name, or its stand-in in a simulation.
///
/// It reports each process that has connected and begun to speak, on its poller's thread.
package protocol Entrance: AnyObject, Sendable {
    /// Begins to let processes in.
    func start() throws

    /// Lets no process in any more, and sends away each process that has not said hello yet.
    func stop()

    /// Notes what has become of a connection.
    func settle(_ input: ArrivalStateMachine.Input)

    /// Notes something that a person may want to know.
    func note(_ matter: SocketReport.Matter)
}

/// Makes an entrance that calls `arrived` for each process that has connected and begun to speak.
package typealias EntranceMaker =
    @Sendable (_ poller: Poller, _ arrived: @escaping @Sendable (Arrival) -> Void) -> any Entrance

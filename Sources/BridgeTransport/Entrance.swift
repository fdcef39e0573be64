package import BridgePlatform

/// Where processes come in that the host has not started: a socket with a name, or what stands for one in a simulation.
///
/// It calls for each that has come, on its poller's thread.
package protocol Entrance: AnyObject, Sendable {
    /// Begins to let processes in.
    func start() throws

    /// Lets no process in any more, and sends away who has said no hello.
    func stop()

    /// Takes note of what has become of a connection.
    func settle(_ input: ArrivalStateMachine.Input)

    /// Takes note of something that a person may want to know.
    func note(_ matter: SocketReport.Matter)
}

/// Makes an entrance that tells `arrived` of each process that has come.
package typealias EntranceMaker =
    @Sendable (_ poller: Poller, _ arrived: @escaping @Sendable (Arrival) -> Void) -> any Entrance

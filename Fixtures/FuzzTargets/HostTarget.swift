/// A whole host with an honest worker, hostile clients, and a peer: a worker that is hostile in one life, and has its
/// link meddled with in another.
///
/// Nothing traps or hangs, and before each hostile frame the host can be asked for its status, clients and dead
/// letters. The honest worker notices nothing. After each input everything is settled, and the counts balance.
package final class HostTarget: FuzzTarget {
    /// How many plays (inputs) use one host: to start and end a host takes longer than a play.
    private static let playsOfScene = 64

    private var scene: HostScene?
    private var plays = 0

    package init() {}

    /// Ends the host, whose socket and directory would otherwise stay.
    deinit {
        try? scene?.end()
    }

    /// Plays one input; blocks, so the calling thread must not be one of the cooperative pool.
    package func run(_ input: UnsafeRawBufferPointer) throws {
        let scene = try scene ?? HostScene()
        self.scene = scene
        try scene.play(Script(input))
        plays += 1
        if plays % Self.playsOfScene == 0 {
            self.scene = nil
            try scene.end()
        }
    }
}

/// A whole host with an honest worker, and beside it hostile clients and one life after the other of a worker that is
/// hostile or whose link is meddled with.
///
/// Nothing traps or hangs, and before each hostile frame the host answers all questions about itself. The honest worker
/// notices nothing. After each input everything is settled, and the counts balance.
package final class HostTarget: FuzzTarget {
    /// How many plays use one host: starting and ending a host takes longer than a play.
    private static let playsOfScene = 64

    private var scene: HostScene?
    private var plays = 0

    package init() {}

    /// Ends the host, whose socket and directory would otherwise stay.
    deinit {
        try? scene?.end()
    }

    /// Blocks; not for a thread of the cooperative pool.
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

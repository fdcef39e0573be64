/// A whole host with an honest worker, and beside it one life after the other of a worker that is not, or whose link is
/// meddled with, and clients of that kind.
///
/// Nothing traps or hangs, and before each of their frames the host can be asked for all that it tells of itself. The
/// honest worker notices nothing. Behind each input everything is settled and accounted for.
package final class HostTarget: FuzzTarget {
    /// To begin and to end a host takes longer than a play.
    private static let playsOfScene = 64

    private var scene: HostScene?
    private var plays = 0

    package init() {}

    /// Ends the host, whose socket and directory would stay.
    deinit {
        try? scene?.end()
    }

    /// Not for a thread of the cooperative pool.
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

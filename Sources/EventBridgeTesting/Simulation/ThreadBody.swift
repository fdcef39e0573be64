/// The body of a thread; the thread lets go of it while it still belongs to its world, since that release may take
/// locks.
final class ThreadBody: @unchecked Sendable {
    // Sendable: touched by the thread's maker first, and then only by the thread.
    private var body: (@Sendable () -> Void)?

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    @inline(never)
    func run() {
        let body = body.take()
        body?()
    }
}

/// The body of a thread, which the thread releases before it leaves its world, because the release may take locks.
final class ThreadBody: @unchecked Sendable {
    // Sendable: used by the thread's maker first, and then only by the thread.
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

/// The body of a thread; the thread releases it while still part of its world: the release may take locks.
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

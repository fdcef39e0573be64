/// The body of a thread; the thread releases the body while still part of its world, as the release may take locks.
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

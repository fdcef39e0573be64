/// The body of a thread; the thread releases it while still part of its world, because the release may take locks.
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

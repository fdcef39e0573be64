/// What a thread runs, and lets go of while it still belongs to its world: what is released then may take locks.
final class ThreadBody: @unchecked Sendable {
    // Sendable: touched by the thread's maker and then by the thread only.
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

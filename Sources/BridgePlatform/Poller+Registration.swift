extension Poller {
    /// One descriptor's place in a poller.
    ///
    /// `@unchecked Sendable` is sound: `interest` and `handler` are touched under the poller's lock only.
    package final class Registration: @unchecked Sendable {
        package let descriptor: CInt
        private let poller: Poller
        let token: UInt64
        var interest: Interest
        var handler: Handler?

        init(_ poller: Poller, _ token: UInt64, _ descriptor: CInt, _ interest: Interest, _ handler: @escaping Handler)
        {
            self.poller = poller
            self.token = token
            self.descriptor = descriptor
            self.interest = interest
            self.handler = handler
        }

        /// Changes what the registration waits for.
        ///
        /// An empty interest pauses the registration: then not even a hang-up is reported.
        ///
        /// A call for the old interest may still come. After `cancel` this does nothing.
        package func update(_ interest: Interest) throws(SystemError) {
            try poller.update(self, to: interest)
        }

        /// Ends the registration.
        ///
        /// When this returns, the handler is not running and is never called again, and the descriptor may be closed.
        /// On another thread this waits for a call under way to return, so the caller must not hold what the handler
        /// waits for. On the poller's thread this waits for nothing: the handler may cancel itself. Cancelling twice is
        /// allowed.
        package func cancel() {
            poller.cancel(self, waiting: true)
        }

        /// Ends the registration without waiting: one call that has begun, or is just beginning, may still be running.
        package func cancelWithoutWaiting() {
            poller.cancel(self, waiting: false)
        }
    }
}

import CBridgePlatform

/// The calling thread.
package enum CurrentThread {
    /// The thread's number in the operating system, which debuggers and `top` show.
    package static var identifier: UInt64 { cbp_thread_identifier() }

    /// Whether this is the thread with which the process began, which belongs to no pool.
    package static var isMain: Bool { cbp_is_main_thread() != 0 }

    /// On Linux, keeps the thread, and the threads that it starts, on one processor from now on; this is quickest for
    /// threads that take turns.
    ///
    /// - Parameter turn: chooses one of the processors that the thread may use.
    package static func stayOnOneProcessor(turn: UInt64) { cbp_thread_stay_on_one_processor(turn) }

    /// The thread's name; on Linux, a thread that was given none has its starter's name, or the program's.
    package static var name: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, cbp_thread_name(start, buffer.count) == 0 else { return "" }
            return String(cString: start)
        }
    }
}

import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process that outlives the worker which has started it.
enum Grandchild {
    /// Leaves a process behind that holds this one's standard output and standard error, and tells its number on the
    /// former.
    ///
    /// - Parameter holdingLink: whether it also gets the link's descriptor, which is not close-on-exec before the
    ///   worker's runtime has taken it over.
    static func leave(holdingLink: Bool) {
        if !holdingLink, let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }) {
            guard (try? FileDescriptor.setCloseOnExec(link)) != nil else { return }
        }
        system("sleep 300 & echo \"grandchild $!\"")
    }

    /// Leaves a process behind that has a session of its own and holds nothing, and tells its number.
    static func leaveDaemon() {
        system(
            """
            setsid sleep 300 </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- &
            \(untilItIs("sleep 300"))
            echo "daemon $!"
            """
        )
    }

    /// Lines of a shell that go on once the process in the background is this program, and has left the shell's group:
    /// before, it would be ended with that.
    ///
    /// Without `/proc` they do not wait.
    private static func untilItIs(_ command: String) -> String {
        """
        command=/proc/$!/cmdline
        while test -e $command && ! tr '\\0' ' ' <$command | grep -q '^\(command)'; do :; done
        """
    }

    /// Leaves a process behind, in a session of its own, that writes to the link as soon as this one is dead, and
    /// outlives that whether or not anybody still reads it.
    static func leaveWriter() {
        guard let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }),
            let pipe = try? FileDescriptor.pipe()
        else { return }
        // It comes to its end when this process does, which alone holds the other one.
        let reading = dup(pipe.reading.rawValue)
        system(
            """
            setsid sh -c 'trap "" PIPE; cat <&\(reading) >/dev/null; printf "\\0\\0\\0\\7garbage" >&\(link); exec sleep 300' \
            >/dev/null 2>&1 &
            \(untilItIs("sh -c trap"))
            """
        )
        close(reading)
        _ = pipe.writing.release()
    }
}

import BridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A process that outlives the worker that started it.
enum Grandchild {
    /// Leaves a process behind that holds the worker's standard output and standard error, and prints the number of
    /// that process to standard output.
    ///
    /// - Parameter holdingLink: whether that process also gets the link's descriptor, which is not close-on-exec before
    ///   the worker's runtime has taken it over.
    static func leave(holdingLink: Bool) {
        if !holdingLink, let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }) {
            guard (try? FileDescriptor.setCloseOnExec(link)) != nil else { return }
        }
        system("sleep 300 & echo \"grandchild $!\"")
    }

    /// Leaves a process behind with a session of its own and no descriptor of the worker; prints that process's number.
    static func leaveDaemon() {
        system(
            """
            setsid sleep 300 </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- &
            \(untilItIs("sleep 300"))
            echo "daemon $!"
            """
        )
    }

    /// Shell lines that wait until the process in the background runs `command` and has left the shell's group: until
    /// then, it would be ended with the group.
    ///
    /// Without `/proc` the lines do not wait.
    private static func untilItIs(_ command: String) -> String {
        """
        command=/proc/$!/cmdline
        while test -e $command && ! tr '\\0' ' ' <$command | grep -q '^\(command)'; do :; done
        """
    }

    /// Leaves a process behind, in a session of its own, that writes to the link as soon as the worker is dead, and
    /// then lives on, whether or not the host still reads.
    static func leaveWriter() {
        guard let link = CurrentProcess.environment("EVENT_BRIDGE_FD").flatMap({ CInt($0) }),
            let pipe = try? FileDescriptor.pipe()
        else { return }
        // The pipe ends with this process, which alone holds the writing end.
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

import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a descriptor leads to, if that is a person's terminal.
package enum Terminal {
    package static func isTerminal(_ descriptor: CInt) -> Bool {
        isatty(descriptor) == 1
    }

    /// Columns, `nil` if it is no terminal or does not know.
    package static func width(of descriptor: CInt) -> Int? {
        let columns = Int(cbp_terminal_width(descriptor))
        return columns > 0 ? columns : nil
    }

    /// Rows, `nil` if it is no terminal or does not know.
    package static func height(of descriptor: CInt) -> Int? {
        let rows = Int(cbp_terminal_height(descriptor))
        return rows > 0 ? rows : nil
    }
}

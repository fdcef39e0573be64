import CBridgePlatform

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Measures the terminal that a descriptor leads to.
package enum Terminal {
    package static func isTerminal(_ descriptor: CInt) -> Bool {
        isatty(descriptor) == 1
    }

    /// The terminal's columns; `nil` if the descriptor leads to no terminal, or the terminal does not know.
    package static func width(of descriptor: CInt) -> Int? {
        let columns = Int(cbp_terminal_width(descriptor))
        return columns > 0 ? columns : nil
    }

    /// The terminal's rows; `nil` if the descriptor leads to no terminal, or the terminal does not know.
    package static func height(of descriptor: CInt) -> Int? {
        let rows = Int(cbp_terminal_height(descriptor))
        return rows > 0 ? rows : nil
    }
}

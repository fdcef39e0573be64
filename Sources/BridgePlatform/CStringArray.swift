#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Strings as `execve` wants them: pointers to NUL-terminated copies, and a null pointer at the end.
final class CStringArray {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [String]) throws(SpawnError) {
        count = strings.count
        pointers = .allocate(capacity: count + 1)
        pointers.initialize(repeating: nil, count: count + 1)
        for (index, string) in strings.enumerated() {
            pointers[index] = strdup(string)
            if pointers[index] == nil { throw .failed(SystemError(code: ENOMEM, operation: "copying the arguments")) }
        }
    }

    deinit {
        for index in 0..<count { free(pointers[index]) }
        pointers.deallocate()
    }
}

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The one option with a value that each of the example's workers takes.
public enum WorkerOption {
    /// EX_USAGE of sysexits.h.
    private static let usage: CInt = 64

    /// The value of the option; if the option or its value is missing, or there are other arguments, the process writes
    /// one sentence to standard error and ends with status 64.
    ///
    /// - Parameters:
    ///   - name: the option, such as `--store`.
    ///   - placeholder: what stands for its value in the sentence, such as `FILE`.
    public static func value(_ name: String, _ placeholder: String) -> String {
        switch parse(Array(CommandLine.arguments.dropFirst()), name: name, placeholder: placeholder) {
        case .success(let value): return value
        case .failure(let error):
            let line = "\(error.description)\n"
            // If this fails, there is no other place to report the mistake.
            _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
            exit(usage)
        }
    }

    /// What is wrong with the arguments, in a sentence.
    package struct UsageError: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    package static func parse(
        _ arguments: [String],
        name: String,
        placeholder: String
    ) -> Result<String, UsageError> {
        let expected = "this worker is started with `\(name) \(placeholder)`"
        switch arguments.count {
        case 0: return .failure(UsageError(description: "\(expected); no arguments were given"))
        case 1 where arguments[0] == name:
            return .failure(UsageError(description: "\(expected); \(name) has no value"))
        case 2 where arguments[0] == name && !arguments[1].isEmpty: return .success(arguments[1])
        case 2 where arguments[0] == name:
            return .failure(UsageError(description: "\(expected); \(placeholder) is empty"))
        default:
            let found = arguments.map { "\"\($0)\"" }.joined(separator: " ")
            return .failure(UsageError(description: "\(expected); \(found) was given"))
        }
    }
}

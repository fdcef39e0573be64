import CBridgePlatform

/// Says which functions the calling thread is in.
package enum CallPlace {
    /// The Swift functions that the thread is in, innermost first; empty where they are not known.
    ///
    /// The functions of the named modules, of Swift's standard library and of its concurrency library are left out.
    ///
    /// This costs some hundred microseconds, and memory.
    package static func functions(outside modules: [String], atMost limit: Int) -> [String] {
        withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: 64) { addresses in
            guard let start = addresses.baseAddress else { return [] }
            let count = Int(cbp_callers(start, CInt(addresses.count)))
            var found: [String] = []
            for address in addresses.prefix(max(0, count)) where found.count < limit {
                guard let address, let name = function(at: address), !isForeign(name, modules) else { continue }
                if found.last != name { found.append(name) }
            }
            return found
        }
    }

    private static func function(at address: UnsafeMutableRawPointer) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { buffer in
            guard let start = buffer.baseAddress, cbp_function_name(address, start, buffer.count) == 0 else {
                return nil
            }
            return String(cString: start)
        }
    }

    /// Whether to leave a function out: it is not Swift, or its module is one of `modules`, or `Swift` or
    /// `_Concurrency`.
    private static func isForeign(_ name: String, _ modules: [String]) -> Bool {
        guard !name.hasPrefix("swift::"), let module = module(of: name) else { return true }
        return (modules + ["Swift", "_Concurrency"]).contains(module)
    }

    /// The module of a function, such as `Module` of `closure #1 () -> () in static Module.Type.function(Other.Type) ->
    /// ()`; nil for a name that is not Swift.
    private static func module(of name: String) -> String? {
        var words = name.split(separator: " ")[...]
        if words.first == "closure" || words.first == "implicit", let last = words.lastIndex(of: "in") {
            words = words[(last + 1)...]
        }
        if words.count > 2, words.first == "(extension", let module = words.dropFirst(2).first {
            return String(module.prefix { $0 != ")" })
        }
        let function = words.first { $0.contains(".") && !$0.hasPrefix("(") }
        return function?.split(separator: ".").first.map(String.init)
    }
}

/// Reports tasks that are handed to Swift's global executor.
package enum GlobalTasks {
    /// From now on calls `seen` on each thread that hands a task over, before the task runs; call this only once.
    ///
    /// - Returns: Whether `seen` will be called.
    package static func watch(_ seen: @escaping @convention(c) () -> Void) -> Bool { cbp_watch_global_tasks(seen) == 0 }
}

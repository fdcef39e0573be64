extension SpawnRequest {
    /// The largest number that a passed descriptor may have in the child: each number up to the highest passed one
    /// costs a step at the start of the process.
    package static let maximumChildDescriptor: CInt = 255

    /// Refuses values that would otherwise reach the new process changed, or not at all.
    func validate() throws(SpawnError) {
        if executable.isEmpty, !isProbe { throw .invalidArgument(name: "executable", reason: "the path is empty") }
        try refuseNUL(in: executable, named: "executable")
        if let name { try refuseNUL(in: name, named: "name") }
        for (index, argument) in arguments.enumerated() { try refuseNUL(in: argument, named: "arguments[\(index)]") }
        for (key, value) in environment {
            if key.isEmpty { throw .invalidArgument(name: "environment", reason: "it has an empty key") }
            try refuseNUL(in: key, named: "environment key \(key.debugDescription)")
            if key.utf8.contains(UInt8(ascii: "=")) {
                throw .invalidArgument(name: "environment key \(key.debugDescription)", reason: "it contains \"=\"")
            }
            try refuseNUL(in: value, named: "environment value of \(key)")
        }
        if let workingDirectory { try refuseNUL(in: workingDirectory, named: "workingDirectory") }
        for path in box?.paths ?? [] { try refuseNUL(in: path, named: "a path of the box") }
        try validateDescriptors()
    }

    private func validateDescriptors() throws(SpawnError) {
        let allowed = 3...Self.maximumChildDescriptor
        var taken = Set<CInt>()
        for passed in descriptors {
            let name = "descriptor \(passed.child)"
            if !allowed.contains(passed.child) {
                throw .invalidArgument(name: name, reason: "its number is not in \(allowed)")
            }
            if !taken.insert(passed.child).inserted {
                throw .invalidArgument(name: name, reason: "its number is given twice")
            }
        }
    }

    private func refuseNUL(in string: String, named name: String) throws(SpawnError) {
        if string.utf8.contains(0) { throw .invalidArgument(name: name, reason: "it contains NUL") }
    }
}

import BridgePlatform
import Foundation
import TestSupport
import Testing

@Suite("A file that is there as a whole or not at all")
struct FileReplacementTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/replacement-\(randomUInt64())"

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory).sorted() }

    private func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name)), as: UTF8.self)
    }

    private func end() { try? FileManager.default.removeItem(atPath: directory) }

    @Test("it has its name when it is complete, and not before; what was there stays until then")
    func wholeOrNot() throws {
        defer { end() }
        let path = directory + "/f"
        let first = try FileReplacement(of: path)
        #expect(first.leavesNothing)
        try first.append(Array("one ".utf8))
        #expect(try names().allSatisfy { $0.hasPrefix("f.") && $0.hasSuffix(".part") })
        try first.append(Array("two".utf8))
        try first.commit()
        #expect(try names() == ["f"])
        #expect(try text("f") == "one two")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let second = try FileReplacement(of: path)
        try second.append(Array("three".utf8))
        #expect(try text("f") == "one two")
        try second.commit()
        #expect(try text("f") == "three")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try names() == ["f"])
    }

    private func permissions(_ name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
        return attributes[.posixPermissions] as? Int
    }

    /// Makes a file with these permissions, and returns its path.
    private func make(_ permissions: Int) throws -> String {
        let path = directory + "/f"
        try Data("before".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        return path
    }

    @Test("it has the permissions of the file that it replaces, whatever the umask is")
    func permissions() async throws {
        defer { end() }
        let path = try make(0o664)
        await #expect(processExitsWith: .success) { [path = path as String] in
            umask(0o077)
            try FileReplacement(of: path).commit()
        }
        #expect(try permissions("f") == 0o664)
        #expect(try text("f") == "")
    }

    #if os(Linux)
    @Test("it never has more permissions than the file that it replaces")
    func permissionsFromTheBeginning() async throws {
        defer { end() }
        let path = try make(0o600)
        await #expect(processExitsWith: .signal(SIGSYS)) { [path = path as String] in
            // It takes away a permission that the process then has to set.
            umask(0o200)
            if MissingSystemCalls.installKillingAtPermissions() {
                _ = try FileReplacement(of: path)
            } else {
                CurrentProcess.report("not tested: permissions of a new file, as this system has no filters")
                raise(SIGSYS)
            }
        }
        // What the process had made when it was about to set the permissions.
        for name in try names() where name != "f" { #expect(try permissions(name) == 0o400) }
    }

    @Test("one that cannot get the permissions of the file that it replaces is not made")
    func permissionsRefused() async throws {
        defer { end() }
        let path = try make(0o600)
        await #expect(processExitsWith: .success) { [path = path as String] in
            umask(0o200)
            guard MissingSystemCalls.installForPermissions() else {
                return CurrentProcess.report("not tested: refused permissions, as this system has no filters")
            }
            let error = #expect(throws: SystemFileError.self) { _ = try FileReplacement(of: path) }
            #expect(error?.description == "Operation not permitted")
        }
        #expect(try names() == ["f"])
        #expect(try text("f") == "before")
    }
    #endif

    @Test("one that is not completed leaves nothing, and what was there as it was")
    func abandoned() throws {
        defer { end() }
        try Data("before".utf8).write(to: URL(fileURLWithPath: directory + "/f"))
        do {
            let replacement = try FileReplacement(of: directory + "/f")
            try replacement.append(Array("half".utf8))
        }
        #expect(try names() == ["f"])
        #expect(try text("f") == "before")
    }

    @Test("one that is discarded leaves nothing at once; behind its completion that changes nothing")
    func discarded() throws {
        defer { end() }
        let first = try FileReplacement(of: directory + "/f")
        try first.append(Array("half".utf8))
        first.discard()
        #expect(try names().isEmpty)
        #expect(throws: SystemFileError.self) { try first.commit() }
        #expect(try names().isEmpty)
        let second = try FileReplacement(of: directory + "/f")
        try second.append(Array("whole".utf8))
        try second.commit()
        second.discard()
        #expect(try names() == ["f"])
        #expect(try text("f") == "whole")
    }

    @Test("of a symbolic link the file is replaced that it leads to")
    func link() throws {
        defer { end() }
        try Data("before".utf8).write(to: URL(fileURLWithPath: directory + "/f"))
        try FileManager.default.createSymbolicLink(atPath: directory + "/l", withDestinationPath: "f")
        let replacement = try FileReplacement(of: directory + "/l")
        try replacement.append(Array("after".utf8))
        try replacement.commit()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory + "/l") == "f")
        #expect(try text("f") == "after")
    }

    @Test("a device is written as it is; one that is full says so, and is not replaced")
    func device() throws {
        defer { end() }
        let replacement = try FileReplacement(of: "/dev/null")
        #expect(!replacement.leavesNothing)
        try replacement.append([1, 2, 3])
        try replacement.commit()
        guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
        let full = try FileReplacement(of: "/dev/full")
        let failure = #expect(throws: SystemFileError.self) { try full.append([1]) }
        #expect(failure?.hasNoRoom == true)
        #expect(failure?.description == "No space left on device")
    }

    @Test("a directory, a name in no directory and one with a NUL are refused, and nothing is made")
    func refused() throws {
        defer { end() }
        for path in [directory, directory + "/none/f", directory + "/f\0g"] {
            #expect(throws: SystemFileError.self) { _ = try FileReplacement(of: path) }
        }
        #expect(try names().isEmpty)
    }
}

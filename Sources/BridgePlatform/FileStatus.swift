#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What the file system says of a file: its kind, its owner, and its permissions.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case directory
        case regularFile
        case socket
        case symbolicLink
        case other
    }

    /// Identifies one file among all, for as long as the file exists or is open.
    package struct Identity: Hashable, Sendable {
        package let device: UInt64
        package let number: UInt64
    }

    package let kind: Kind
    package let owner: UInt32
    /// The lower nine bits of the file's mode.
    package let permissions: UInt32
    /// The sticky bit: in such a directory only the owner of an entry, or of the directory, may rename or remove it.
    package let isSticky: Bool
    /// How many names the file has.
    package let nameCount: UInt64
    package let identity: Identity

    init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFDIR: kind = .directory
        case S_IFREG: kind = .regularFile
        case S_IFSOCK: kind = .socket
        case S_IFLNK: kind = .symbolicLink
        default: kind = .other
        }
        owner = status.st_uid
        permissions = UInt32(status.st_mode & 0o777)
        isSticky = status.st_mode & 0o1000 != 0
        nameCount = UInt64(status.st_nlink)
        identity = Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            number: UInt64(status.st_ino)
        )
    }
}

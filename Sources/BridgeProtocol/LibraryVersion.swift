/// The version of this library, told to the peer in the handshake for people who compare two ends.
package enum LibraryVersion {
    package static let text = "EventBridge 0.1.0 (Swift)"
}

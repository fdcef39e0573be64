/// The version of this library; each side states its own in the handshake, for people who compare the two.
package enum LibraryVersion {
    package static let text = "EventBridge 0.1.0 (Swift)"
}

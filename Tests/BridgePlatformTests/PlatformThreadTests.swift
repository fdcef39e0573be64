import BridgePlatform
import Testing

extension PlatformTests {
    @Suite("A thread of the operating system")
    struct PlatformThreadTests {
        @Test(
            "bears the beginning of a name that is too long, and nothing from behind the first character without room",
            arguments: [
                ("exactly fifteen", "exactly fifteen"),
                ("link provisioning", "link provisioni"),
                // The character in the middle has two bytes, and one is left; the last one would have room.
                ("fourteen bytesöx", "fourteen bytes"),
                ("fourteen bytesö", "fourteen bytes"),
            ]
        )
        func longName(name: String, shown: String) throws {
            let names = Mailbox<String>()
            let thread = try PlatformThread.startJoinable(name: name) { names.put(CurrentThread.name) }
            thread.join()
            #expect(names.contents == [shown])
        }
    }
}

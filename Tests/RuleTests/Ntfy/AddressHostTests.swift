import Mapping
import Testing

/// What the log says of the address of a request.
struct AddressHostTests {
    @Test(arguments: [
        ("https://example.com/door?key=secret", "example.com"), ("http://mina:secret@10.0.0.7:8123/a", "10.0.0.7:8123"),
        ("https://a@b@c#@d", "c"), ("https://[::1]:8/x", "[::1]:8"), ("https://e\\@x/", "e"), ("nothing", ""),
    ])
    func onlyTheHostIsTold(_ address: String, _ host: String) {
        #expect(AddressHost.host(of: address) == host)
    }
}

import Mapping
import Testing

struct AddressTests {
    @Test(arguments: [
        "https://a", "HTTP://a/b?c", "https://bücher.example", "https://[::1]:8/a", "https://mina@a",
        "mailto:a@b", "tel:+49", "geo:1,2", "geo:0,0?q=Main Street 5", "https://a/b c",
    ])
    func usualAddressesAreOpened(_ address: String) { #expect(OpenableAddress.isOpenable(address)) }

    @Test func blanksAreEncoded() {
        #expect(OpenableAddress.openable("geo:0,0?q=Main Street 5") == "geo:0,0?q=Main%20Street%205")
        #expect(OpenableAddress.openable("https://a/b%20c") == "https://a/b%20c")
    }

    @Test(arguments: [
        "", "a", "file:///etc/passwd", "javascript:1", "https://a b", "https://a\n", "smb://a", "-x:https:",
        "http://[::", "https://",
        "https:a", "https://a:99999", "https://a:b/", "HTTPS://[::1", "https://256.1.1.1/",
    ])
    func othersAreNot(_ address: String) { #expect(!OpenableAddress.isOpenable(address)) }

    @Test(arguments: [[8, 8, 8, 8], [100, 128, 0, 1], [172, 32, 0, 1], [192, 0, 1, 1]] as [[UInt8]])
    func addressesOfVersion4ArePublic(_ bytes: [UInt8]) { #expect(PublicAddress.isPublic(bytes)) }

    @Test(
        arguments: [
            [0, 0, 0, 0], [10, 1, 2, 3], [127, 0, 0, 1], [100, 64, 0, 1], [169, 254, 169, 254], [172, 16, 0, 1],
            [192, 168, 1, 1], [192, 0, 2, 1], [198, 18, 0, 1], [224, 0, 0, 1], [255, 255, 255, 255], [1, 2, 3], [],
        ] as [[UInt8]])
    func othersOfVersion4AreNot(_ bytes: [UInt8]) { #expect(!PublicAddress.isPublic(bytes)) }

    @Test func addressesOfVersion6AreOfTheSameKind() {
        func isPublic(_ head: [UInt8], _ tail: [UInt8] = [1]) -> Bool {
            PublicAddress.isPublic(head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail)
        }
        #expect(isPublic([0x2A, 0x00, 0x14, 0x50]))
        #expect(isPublic([0x20, 0x02, 8, 8, 8, 8]))
        #expect(isPublic([0, 0x64, 0xFF, 0x9B], [8, 8, 8, 8]))
        #expect(isPublic([], [0xFF, 0xFF, 8, 8, 8, 8]))
        for head in [
            [], [0xFE, 0x80], [0xFC], [0xFF, 2], [0x20, 1, 0x0D, 0xB8], [0x20, 1, 0, 0], [0x20, 2, 10, 0, 0, 1],
        ]
            as [[UInt8]]
        {
            #expect(!isPublic(head))
        }
        #expect(!isPublic([0, 0x64, 0xFF, 0x9B], [192, 168, 1, 1]))
        #expect(!isPublic([], [0xFF, 0xFF, 127, 0, 0, 1]))
    }
}

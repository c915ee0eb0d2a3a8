import NotifyText
import Testing

@testable import notifyctl

struct ActiveCharacterTests {
    @Test(arguments: [
        "\0", "\u{7}", "\u{1b}", "\r", "\u{7f}", "\u{85}", "\u{9b}", "\u{61c}", "\u{200e}", "\u{200f}", "\u{2028}",
        "\u{2029}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{206f}", "\u{fff9}",
    ]) func whatChangesTheRestIsWrittenOut(_ text: String) {
        let shown = Terminal.plain("a\(text)b")
        #expect(shown == "a\\u{\(String(text.unicodeScalars.first!.value, radix: 16))}b")
        #expect(shown.visible() == shown)
        let json = JSON.string("a\(text)b").text(pretty: false)
        #expect(json.visible() == json)
    }

    @Test func otherTextStaysAsItIs() {
        for text in ["영희 👩‍👧 é", "नमस्ते", "می‌خواهم", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", ""] { #expect(Terminal.plain(text) == text) }
        #expect(Terminal.plain("a\nb\tc") == "a\\nb\\tc")
        #expect("a\nb\tc\u{1b}".visible(keepsLines: true) == "a\nb\tc\\u{1b}")
    }

    @Test(
        arguments: [
            ([], nil), ([0x61, 0xC3, 0xA9], nil), ([0x61, 0xFF, 0x62], 1), ([0xC3, 0xA9, 0xC3], 2),
            ([0xED, 0xA0, 0x80], 0),
            ([0xC0, 0x80], 0), ([0xF0, 0x9F, 0x91, 0xA9, 0x80], 4),
        ] as [([UInt8], Int?)]) func bytesThatAreNotTextAreFound(_ bytes: [UInt8], _ fault: Int?)
    {
        #expect(Encoding.firstFault(in: bytes) == fault)
    }
}

import Testing

@testable import Mapping

struct PictureHeaderTests {
    private static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func little(_ number: Int, _ count: Int) -> [UInt8] { big(number, count).reversed() }

    private static func png(_ width: Int, _ height: Int) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width, 4)
            + big(height, 4) + [8, 6, 0, 0, 0]
    }

    private static func jpeg(_ width: Int, _ height: Int) -> [UInt8] {
        // An application's segment, filling, tables, and a progressive frame.
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xC4, 0, 3, 0xC0, 0xFF, 0xC2, 0, 11, 8] + big(height, 2)
            + big(width, 2) + [1, 1, 0x11, 0]
    }

    private static func gif(_ width: Int, _ height: Int, frames: [(Int, Int)]) -> [UInt8] {
        Array("GIF89a".utf8) + little(width, 2) + little(height, 2) + [0x80, 0, 0] + [UInt8](repeating: 9, count: 6)
            + [0x21, 0xF9, 4, 0, 0, 0, 0, 0]
            + frames.flatMap { [0x2C, 0, 0, 0, 0] + little($0.0, 2) + little($0.1, 2) + [0, 2, 3, 1, 2, 3, 0] } + [0x3B]
    }

    private static func webp(_ chunk: String, _ content: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little(content.count + 12, 4) + Array("WEBP".utf8) + Array(chunk.utf8)
            + little(content.count, 4) + content
    }

    /// Each kind, and both sides that it says.
    private static func pictures(_ width: Int, _ height: Int) -> [(kind: PictureHeader.Kind, bytes: [UInt8])] {
        [
            (.png, png(width, height)), (.jpeg, jpeg(width, height)),
            (.gif, gif(width, height, frames: [(width, height)])),
            (.webp, webp("VP8X", [0, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))),
            (.webp, webp("VP8L", [0x2F] + little(width - 1 | (height - 1) << 14, 4))),
            (.webp, webp("VP8 ", [0, 0, 0, 0x9D, 1, 0x2A] + little(width, 2) + little(height, 2))),
        ]
    }

    @Test func everyKindSaysHowLargeItIs() {
        for (kind, bytes) in Self.pictures(300, 200) {
            let header = PictureHeader(bytes)
            #expect(header?.kind == kind)
            #expect(header?.width == 300 && header?.height == 200)
            #expect(header?.isDrawable == true)
        }
    }

    @Test(arguments: [(5000, 10), (10, 5000), (4096, 4096)])
    func noKindMayHaveTooManyPixels(_ width: Int, _ height: Int) {
        for (_, bytes) in Self.pictures(width, height) { #expect(PictureHeader(bytes)?.isDrawable == false) }
    }

    @Test func sidesBeyondAllMemoryAreRefused() {
        #expect(PictureHeader(Self.png(0xFFFF_FFFF, 0xFFFF_FFFF))?.isDrawable == false)
        #expect(PictureHeader(Self.png(0, 5))?.isDrawable == false)
        #expect(PictureHeader(Self.gif(1, 1, frames: [(65_535, 65_535)]))?.isDrawable == false)
        func png(frames: Int) -> [UInt8] {
            let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            let size: [UInt8] = [0, 0, 7, 208, 0, 0, 7, 208, 1, 0, 0, 0, 0, 0, 0, 0, 0]
            let control: [UInt8] = [0, 0, 0, 8] + Array("acTL".utf8) + [0, 0, UInt8(frames >> 8), UInt8(frames & 255)]
            return head + size + control + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + Array("IDAT".utf8)
        }
        #expect(PictureHeader(png(frames: 8))?.isDrawable == true)
        #expect(PictureHeader(png(frames: 300))?.isDrawable == false)
        func webp(frames: Int) -> [UInt8] {
            let head = Array("RIFF".utf8) + Self.little(0, 4) + Array("WEBPVP8X".utf8) + Self.little(10, 4)
            let size = [0, 0, 0, 0] + Self.little(1999, 3) + Self.little(1999, 3)
            return head + size + (0..<frames).flatMap { _ in Array("ANMF".utf8) + Self.little(3, 4) + [0, 0, 0, 0] }
        }
        #expect(PictureHeader(webp(frames: 8))?.isDrawable == true)
        #expect(PictureHeader(webp(frames: 300))?.isDrawable == false)
        let many = Self.gif(1000, 1000, frames: Array(repeating: (1, 1), count: 40))
        #expect(PictureHeader(many)?.isDrawable == false)
    }

    @Test func whatIsCutOffOrDamagedIsNoPictureAndNoFault() {
        var random = SystemRandomNumberGenerator()
        for (_, bytes) in Self.pictures(300, 200) {
            for count in 0...bytes.count { _ = PictureHeader(Array(bytes.prefix(count))) }
            for _ in 0..<500 {
                var damaged = bytes
                for _ in 0..<3 { damaged[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255) }
                _ = PictureHeader(damaged)
            }
        }
        #expect(PictureHeader(Array("<html>".utf8)) == nil)
        #expect(PictureHeader([0xFF, 0xD8, 0xFF, 0xDA, 0, 2]) == nil)
    }
}

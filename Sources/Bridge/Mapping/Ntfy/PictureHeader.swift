/// What a picture says of itself in its first bytes. A small file may say that it has more pixels than memory has
/// bytes, and who draws it would believe that.
public struct PictureHeader: Equatable, Sendable {
    public enum Kind: String, Sendable {
        case png, jpeg, gif, webp
    }

    public let kind: Kind
    public let width: Int
    public let height: Int
    /// Of all its frames; those of a picture that does not move.
    public let pixels: Int

    /// No screen shows more of a picture in a banner.
    public static let maximumSide = 4096
    /// 32 MiB when it is drawn.
    public static let maximumPixels = 8 << 20
    /// All frames of one that moves.
    public static let maximumMovingPixels = 32 << 20

    /// Whether it can be drawn without harm.
    public var isDrawable: Bool {
        (1...Self.maximumSide).contains(width) && (1...Self.maximumSide).contains(height)
            && width * height <= Self.maximumPixels && pixels <= Self.maximumMovingPixels
    }

    /// - Returns: `nil` if it is none of the kinds, or does not say how large it is.
    public init?(_ bytes: [UInt8]) {
        let reader = Reader(bytes: bytes)
        let size: (width: Int, height: Int)?
        var moving: Int?
        var frames = 1
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            kind = .png
            size = reader.sizeOfPNG
            frames = reader.framesOfPNG
        } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            kind = .jpeg
            size = reader.sizeOfJPEG
        } else if bytes.starts(with: "GIF8".utf8) {
            kind = .gif
            size = reader.sizeOfGIF
            moving = reader.pixelsOfGIF
        } else if bytes.starts(with: "RIFF".utf8), reader.has("WEBP", at: 8) {
            kind = .webp
            size = reader.sizeOfWebP
            frames = reader.framesOfWebP
        } else {
            return nil
        }
        guard let size else { return nil }
        (width, height) = size
        // A side has at most 32 bits, and so has the number of frames.
        let (still, _) = size.width.multipliedReportingOverflow(by: size.height)
        let (all, isTooMuch) = still.multipliedReportingOverflow(by: max(frames, 1))
        pixels = isTooMuch ? .max : max(moving ?? 0, all)
    }
}

/// Reads numbers where there are some; what is cut off is `nil`.
private struct Reader {
    let bytes: [UInt8]

    func has(_ text: String, at offset: Int) -> Bool {
        offset <= bytes.count && bytes[offset...].starts(with: text.utf8)
    }

    func byte(_ offset: Int) -> Int? { bytes.indices.contains(offset) ? Int(bytes[offset]) : nil }

    /// The highest byte first.
    func big(_ offset: Int, bytes count: Int) -> Int? { number(offset..<(offset + count)) }

    /// The lowest byte first.
    func little(_ offset: Int, bytes count: Int) -> Int? { number((offset..<(offset + count)).reversed()) }

    private func number(_ offsets: some Sequence<Int>) -> Int? {
        var number = 0
        for offset in offsets {
            guard let byte = byte(offset) else { return nil }
            number = number << 8 | byte
        }
        return number
    }

    private func pair(_ width: Int?, _ height: Int?) -> (width: Int, height: Int)? {
        guard let width, let height else { return nil }
        return (width, height)
    }

    /// [PNG, 11.2.1](https://www.w3.org/TR/png-3/#11IHDR)
    var sizeOfPNG: (width: Int, height: Int)? {
        has("IHDR", at: 12) ? pair(big(16, bytes: 4), big(20, bytes: 4)) : nil
    }

    /// Of one that moves; [PNG, 11.3.6.1](https://www.w3.org/TR/png-3/#acTL-chunk). It says so before the first frame.
    var framesOfPNG: Int {
        var offset = 8
        while let length = big(offset, bytes: 4), !has("IDAT", at: offset + 4) {
            if has("acTL", at: offset + 4) { return big(offset + 8, bytes: 4) ?? 1 }
            offset += 12 + length
        }
        return 1
    }

    /// Segments up to the one that begins a frame; ITU T.81, B.2.
    var sizeOfJPEG: (width: Int, height: Int)? {
        var offset = 2
        while byte(offset) == 0xFF, let marker = byte(offset + 1) {
            switch marker {
            case 0xFF: offset += 1
            case 0x01, 0xD0...0xD8: offset += 2
            // From here on there are pixels.
            case 0xD9, 0xDA: return nil
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return pair(big(offset + 7, bytes: 2), big(offset + 5, bytes: 2))
            default:
                guard let length = big(offset + 2, bytes: 2), length >= 2 else { return nil }
                offset += 2 + length
            }
        }
        return nil
    }

    /// Of the screen on which its frames are drawn; GIF89a, 18.
    var sizeOfGIF: (width: Int, height: Int)? { pair(little(6, bytes: 2), little(8, bytes: 2)) }

    /// Of all its frames, and at least those of its screen for each.
    var pixelsOfGIF: Int? {
        guard let size = sizeOfGIF, let flags = byte(10) else { return nil }
        var offset = 13 + colours(flags)
        var pixels = 0
        while let block = byte(offset) {
            if block == 0x2C {
                guard let width = little(offset + 5, bytes: 2), let height = little(offset + 7, bytes: 2),
                    let flags = byte(offset + 9)
                else { break }
                pixels += max(width * height, size.width * size.height)
                offset = end(ofBlocksAt: offset + 11 + colours(flags))
            } else if block == 0x21 {
                offset = end(ofBlocksAt: offset + 2)
            } else {
                break
            }
        }
        return pixels
    }

    /// The bytes of a table of colours.
    private func colours(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << ((flags & 7) + 1) }

    /// Behind a chain of blocks, each with its length.
    private func end(ofBlocksAt start: Int) -> Int {
        var offset = start
        while let length = byte(offset), length > 0 { offset += 1 + length }
        return offset + 1
    }

    /// Of one that moves; RFC 9649, 2.7.1.1.
    var framesOfWebP: Int {
        var offset = 12
        var frames = 0
        while let length = little(offset + 4, bytes: 4) {
            if has("ANMF", at: offset) { frames += 1 }
            // Chunks have an even length.
            offset += 8 + length + length % 2
        }
        return frames
    }

    /// RFC 9649, 2.5 to 2.7.
    var sizeOfWebP: (width: Int, height: Int)? {
        if has("VP8X", at: 12) {
            return pair(little(24, bytes: 3).map { $0 + 1 }, little(27, bytes: 3).map { $0 + 1 })
        }
        if has("VP8L", at: 12), byte(20) == 0x2F, let bits = little(21, bytes: 4) {
            return ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        }
        if has("VP8 ", at: 12), big(23, bytes: 3) == 0x9D012A {
            return pair(little(26, bytes: 2).map { $0 & 0x3FFF }, little(28, bytes: 2).map { $0 & 0x3FFF })
        }
        return nil
    }
}

/// Messages that wait for their pictures. They have few places of their own: a message that finds none goes without its
/// picture, so that pictures that never come hold up no other message.
public struct PictureWaits<Item> {
    /// So many pictures are fetched at most.
    public static var maximum: Int { 8 }

    private var items: [UInt64: Item] = [:]
    /// Also of messages that do not wait any more.
    private var fetches = 0

    public init() {}

    /// Whether one more picture may be fetched.
    public var hasPlace: Bool { fetches < Self.maximum }

    /// A picture is fetched, and its message waits.
    public mutating func begin(_ ticket: UInt64, _ item: Item) {
        fetches += 1
        items[ticket] = item
    }

    /// A picture was fetched, or cannot be.
    public mutating func endFetch() { fetches -= 1 }

    /// A message waits no longer.
    ///
    /// - Returns: `nil` if it did not wait.
    public mutating func end(_ ticket: UInt64) -> Item? { items.removeValue(forKey: ticket) }

    /// No message waits any longer.
    public mutating func endAll() -> [Item] {
        defer { items = [:] }
        return Array(items.values)
    }
}

/// Title, body and fields of an event.
///
/// As they came they are quick to use. Packed they take one piece of memory, and are read again each time.
enum EventContent: Sendable {
    case plain(Plain)
    /// The length of the title and that of the body, 4 bytes each, their texts, and the fields as `FieldCoding` writes
    /// them.
    case packed([UInt8])

    final class Plain: Sendable {
        let title: String
        let body: String
        let fields: [Field]

        init(_ title: String, _ body: String, _ fields: [Field]) {
            self.title = title
            self.body = body
            self.fields = fields
        }
    }

    private static let lengths = 2 * MemoryLayout<UInt32>.size

    init(title: String, body: String, fields: [Field]) { self = .plain(Plain(title, body, fields)) }

    var title: String {
        switch self {
        case .plain(let plain): plain.title
        case .packed(let bytes): Self.text(bytes, Self.bounds(of: bytes).title)
        }
    }

    var body: String {
        switch self {
        case .plain(let plain): plain.body
        case .packed(let bytes): Self.text(bytes, Self.bounds(of: bytes).body)
        }
    }

    var fields: [Field] {
        switch self {
        case .plain(let plain): return plain.fields
        case .packed(let bytes):
            guard let fields = try? FieldCoding.decode(Array(bytes[Self.bounds(of: bytes).body.upperBound...])) else {
                preconditionFailure("what was encoded can be decoded")
            }
            return fields
        }
    }

    var packed: EventContent {
        guard case .plain(let plain) = self else { return self }
        let fields = FieldCoding.encode(plain.fields)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.lengths + plain.title.utf8.count + plain.body.utf8.count + fields.count)
        for text in [plain.title, plain.body] {
            withUnsafeBytes(of: UInt32(text.utf8.count)) { bytes.append(contentsOf: $0) }
        }
        bytes.append(contentsOf: plain.title.utf8)
        bytes.append(contentsOf: plain.body.utf8)
        bytes.append(contentsOf: fields)
        return .packed(bytes)
    }

    private static func bounds(of bytes: [UInt8]) -> (title: Range<Int>, body: Range<Int>) {
        let counts = bytes.withUnsafeBytes { bytes in
            [0, lengths / 2].map { Int(bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self)) }
        }
        let title = lengths..<lengths + counts[0]
        return (title, title.upperBound..<title.upperBound + counts[1])
    }

    private static func text(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }
}

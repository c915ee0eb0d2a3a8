/// Writes the wire form of D-Bus, right or wrong: unlike a library, it does not mind what it is given.
///
/// [Marshaling](https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling)
struct WireWriter {
    private(set) var bytes: [UInt8] = []

    mutating func pad(to alignment: Int) {
        while bytes.count % alignment != 0 { bytes.append(0) }
    }

    mutating func raw(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    mutating func number<Number: FixedWidthInteger>(_ number: Number) {
        pad(to: MemoryLayout<Number>.size)
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func string(_ text: String) {
        number(UInt32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
    }

    mutating func signature(_ text: String) {
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
    }

    mutating func array(alignment: Int, _ body: (inout WireWriter) -> Void) {
        number(UInt32(0))
        let length = bytes.count - 4
        pad(to: alignment)
        let start = bytes.count
        body(&self)
        withUnsafeBytes(of: UInt32(bytes.count - start).littleEndian) { size in
            bytes.replaceSubrange(length..<length + 4, with: size)
        }
    }

    mutating func variant(_ type: String, _ body: (inout WireWriter) -> Void) {
        signature(type)
        body(&self)
    }
}

/// A message as it goes over the wire, with whatever somebody wants in its header.
struct WireMessage {
    /// The types of messages, as the specification numbers them.
    enum Kind: UInt8 {
        case call = 1
        case reply, error, signal
    }

    var kind = Kind.call
    /// 1: no reply is expected.
    var flags: UInt8 = 0
    var serial: UInt32 = 1
    var path = "/org/notifyd/Router1"
    var interface: String? = "org.notifyd.Router1"
    var member = ""
    var destination = "org.notifyd.Router1"
    var replySerial: UInt32?
    var signature = ""
    /// How many descriptors come with it; `nil` leaves that out.
    var descriptors: UInt32?
    var body: [UInt8] = []

    var expectsReply: Bool { kind == .call && flags & 1 == 0 }

    var bytes: [UInt8] {
        var writer = WireWriter()
        writer.raw([UInt8(ascii: "l"), kind.rawValue, flags, 1])
        writer.number(UInt32(body.count))
        writer.number(serial)
        writer.array(alignment: 8) { fields in
            let texts: [(UInt8, String, String?)] = [
                (1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination),
            ]
            for case (let code, let type, let text?) in texts {
                fields.field(code, type) { $0.string(text) }
            }
            if let replySerial { fields.field(5, "u") { $0.number(replySerial) } }
            if !signature.isEmpty { fields.field(8, "g") { $0.signature(signature) } }
            if let descriptors { fields.field(9, "u") { $0.number(descriptors) } }
        }
        writer.pad(to: 8)
        writer.raw(body)
        return writer.bytes
    }
}

extension WireWriter {
    fileprivate mutating func field(_ code: UInt8, _ type: String, _ value: (inout WireWriter) -> Void) {
        pad(to: 8)
        raw([code])
        variant(type, value)
    }
}

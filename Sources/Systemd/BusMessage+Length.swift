internal import CSystemd
import Glibc

extension BusMessage {
    /// How many bytes the arguments take, without padding. sd-bus knows and does not tell: they are gone through, and read from
    /// the start again afterwards.
    ///
    /// - Parameter limit: where they take more than this, it is not found out how much more.
    public func length(upTo limit: Int) throws(SystemdError) -> Int {
        rewind()
        defer { rewind() }
        var length = 0
        try addLength(to: &length, upTo: limit)
        return length
    }

    private func addLength(to length: inout Int, upTo limit: Int) throws(SystemdError) {
        while length <= limit, let (type, contents) = try peek() {
            switch type {
            case "s", "o", "g":
                var text: UnsafePointer<CChar>?
                try check(sd_bus_message_read_basic(raw, code(type), &text), "sd_bus_message_read_basic")
                // Its own length and the NUL at its end; a signature's length is shorter.
                length += (type == "g" ? 2 : 5) + strnlen(text!, limit + 1)
            case "a", "v", "r", "e":
                guard try enter(type, contents) else { return }
                // An array begins with its length, and a variant with its type.
                length += type == "a" ? 4 : type == "v" ? 2 + contents.utf8.count : 0
                try addLength(to: &length, upTo: limit)
                guard length <= limit else { return }
                try leave()
            default:
                length += Self.width(of: type)
                try skip(String(type))
            }
        }
    }

    private static func width(of type: Unicode.Scalar) -> Int {
        switch type {
        case "y": 1
        case "n", "q": 2
        case "x", "t", "d": 8
        default: 4
        }
    }
}

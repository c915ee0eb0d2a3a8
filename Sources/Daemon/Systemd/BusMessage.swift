internal import CSystemd
import Glibc

/// A D-Bus message with one owner. Arguments are read from left to right, and appended; see
/// sd_bus_message_read_basic(3) and sd_bus_message_append_basic(3).
///
/// Type codes are those of the D-Bus specification, as characters: `s`, `t`, `a`, …
public struct BusMessage: ~Copyable {
    let raw: OpaquePointer

    /// Takes over a reference.
    init(adopting raw: OpaquePointer) { self.raw = raw }

    /// Adds a reference.
    init(retaining raw: OpaquePointer) { self.raw = sd_bus_message_ref(raw) }

    deinit { sd_bus_message_unref(raw) }

    /// The unique name of the sender, as written by the bus.
    public var sender: String { sd_bus_message_get_sender(raw).map { String(cString: $0) } ?? "" }

    /// Whether it is a call, of a method of the interface if one is named.
    public func isCall(on interface: String? = nil) -> Bool {
        // An optional argument would be copied to an array first.
        guard let interface else { return sd_bus_message_is_method_call(raw, nil, nil) > 0 }
        return interface.withCString { sd_bus_message_is_method_call(raw, $0, nil) > 0 }
    }

    /// Empty for a broadcast.
    public var destination: String { sd_bus_message_get_destination(raw).map { String(cString: $0) } ?? "" }

    /// Whether it is a call of this method.
    public func isCall(of member: String, on interface: String) -> Bool {
        sd_bus_message_is_method_call(raw, interface, member) > 0
    }

    /// The serial number of the call that this replies to; `nil` if it is not a reply.
    var answeredCookie: UInt64? {
        var cookie: UInt64 = 0
        return sd_bus_message_get_reply_cookie(raw, &cookie) >= 0 ? cookie : nil
    }

    var isError: Bool { sd_bus_message_is_method_error(raw, nil) > 0 }

    /// The name and text of the error, if the message is one.
    public var failure: BusFailure? {
        guard sd_bus_message_is_method_error(raw, nil) > 0, let error = sd_bus_message_get_error(raw) else {
            return nil
        }
        return BusFailure(
            name: error.pointee.name.map { String(cString: $0) } ?? "",
            text: error.pointee.message.map { String(cString: $0) } ?? "")
    }
}

/// A reference-counted message, for collections and closures.
public final class RetainedMessage {
    public let message: BusMessage
    /// About how long it is, if it may be long.
    public let bytes: Int

    public init(_ message: consuming BusMessage, bytes: Int = 0) {
        self.message = message
        self.bytes = bytes
    }

    /// The same message with its size.
    public init(_ held: RetainedMessage, bytes: Int) {
        message = BusMessage(retaining: held.message.raw)
        self.bytes = bytes
    }

    /// Adds a reference to a message.
    public init(retaining message: borrowing BusMessage) {
        self.message = BusMessage(retaining: message.raw)
        bytes = 0
    }
}

func code(_ scalar: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: scalar.value) }

// MARK: Reading

extension BusMessage {
    /// Bytes of a text; longer ones are refused and not copied. A message can have 128 MiB.
    public static var longestText: Int { 128 * 1024 }

    /// - Throws: an error with `isTooLong` for a text beyond `longestText`, with `isNoncharacter` for one that sd-bus
    ///   does not give out although D-Bus allows it.
    public func readString(as type: Unicode.Scalar = "s") throws(SystemdError) -> String {
        var text: UnsafePointer<CChar>?
        try check(sd_bus_message_read_basic(raw, code(type), &text), "sd_bus_message_read_basic")
        guard strnlen(text!, Self.longestText + 1) <= Self.longestText else {
            throw SystemdError(code: EMSGSIZE, call: "sd_bus_message_read_basic")
        }
        return String(cString: text!)
    }

    /// Reads a number that is as wide as its type code says: `y` `UInt8`, `n` `Int16`, `u` `UInt32`, `t` `UInt64`, …
    public func readNumber<Number: BitwiseCopyable & Numeric>(
        _ type: Unicode.Scalar, as _: Number.Type = Number.self
    ) throws(SystemdError) -> Number {
        var number: Number = 0
        let result = withUnsafeMutablePointer(to: &number) { sd_bus_message_read_basic(raw, code(type), $0) }
        try check(result, "sd_bus_message_read_basic")
        return number
    }

    public func readBoolean() throws(SystemdError) -> Bool {
        // A D-Bus boolean is an int for sd-bus.
        let flag: CInt = try readNumber("b")
        return flag != 0
    }

    /// The next type code and, for containers, the signature of the contents; `nil` at the end.
    public func peek() throws(SystemdError) -> (type: Unicode.Scalar, contents: String)? {
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        guard try check(sd_bus_message_peek_type(raw, &type, &contents), "sd_bus_message_peek_type") > 0 else {
            return nil
        }
        return (Unicode.Scalar(UInt8(bitPattern: type)), contents.map { String(cString: $0) } ?? "")
    }

    /// Enters a container; returns false if there is none left.
    public func enter(_ type: Unicode.Scalar, _ contents: String) throws(SystemdError) -> Bool {
        try check(
            contents.withCString { sd_bus_message_enter_container(raw, code(type), $0) },
            "sd_bus_message_enter_container") > 0
    }

    public func leave() throws(SystemdError) {
        try check(sd_bus_message_exit_container(raw), "sd_bus_message_exit_container")
    }

    public func skip(_ types: String) throws(SystemdError) {
        try check(types.withCString { sd_bus_message_skip(raw, $0) }, "sd_bus_message_skip")
    }
}

// MARK: Writing

extension BusMessage {
    /// Seals a message that is not sent, and begins to read it as its receiver would.
    package func sealForReading() {
        must(sd_bus_message_seal(raw, 1, 0), "sd_bus_message_seal")
        must(sd_bus_message_rewind(raw, 1), "sd_bus_message_rewind")
    }
}

// Appending fails only for a wrong signature or a text that is not UTF-8, which Swift values cannot produce; lengths
// are limited when an event is accepted. Texts are passed by `withCString`, because Swift's implicit conversion copies
// them to the heap.
extension BusMessage {
    public func append(_ text: String, as type: Unicode.Scalar = "s") {
        must(text.withCString { sd_bus_message_append_basic(raw, code(type), $0) }, "sd_bus_message_append_basic")
    }

    public func append<Number: BitwiseCopyable & Numeric>(_ number: Number, as type: Unicode.Scalar) {
        let result = withUnsafePointer(to: number) { sd_bus_message_append_basic(raw, code(type), $0) }
        must(result, "sd_bus_message_append_basic")
    }

    public func append(_ flag: Bool) { append(CInt(flag ? 1 : 0), as: "b") }

    public func append(_ texts: [String]) {
        appendContainer("a", "s") { message in for text in texts { message.append(text) } }
    }

    public func appendContainer(_ type: Unicode.Scalar, _ contents: String, _ body: (borrowing BusMessage) -> Void) {
        openContainer(type, contents)
        body(self)
        closeContainer()
    }

    /// Opens a container; `closeContainer` closes it.
    public func openContainer(_ type: Unicode.Scalar, _ contents: String) {
        must(
            contents.withCString { sd_bus_message_open_container(raw, code(type), $0) },
            "sd_bus_message_open_container")
    }

    public func closeContainer() { must(sd_bus_message_close_container(raw), "sd_bus_message_close_container") }

    /// Appends an entry of an `a{sv}` that holds one basic value.
    public func appendEntry(_ key: String, _ type: String, _ value: (borrowing BusMessage) -> Void) {
        appendContainer("e", "sv") { message in
            message.append(key)
            message.appendContainer("v", type, value)
        }
    }
}

internal import CDBus
import Glibc
internal import NotifyText

// Converts between Message and DBusMessage. Values are checked first, because libdbus aborts the program when an
// argument is invalid. See https://dbus.freedesktop.org/doc/api/html/group__DBusMessage.html

/// The one owner of a reference to a `DBusMessage`.
struct RawMessage: ~Copyable {
    let pointer: OpaquePointer

    init(adopting pointer: OpaquePointer) { self.pointer = pointer }

    deinit { dbus_message_unref(pointer) }
}

extension RawMessage {
    static func encoding(_ message: Message) throws(NotifyError) -> RawMessage {
        for argument in message.arguments {
            if let flaw = argument.flaw() {
                throw NotifyError(.invalidArgument, "An argument cannot be sent: \(flaw).")
            }
        }
        guard let pointer = dbus_message_new(message.kind.rawValue) else { throw .noMemory }
        let raw = RawMessage(adopting: pointer)

        try raw.set(message.path, "object path", dbus_validate_path, dbus_message_set_path)
        try raw.set(message.interface, "interface name", dbus_validate_interface, dbus_message_set_interface)
        try raw.set(message.member, "member name", dbus_validate_member, dbus_message_set_member)
        try raw.set(message.errorName, "error name", dbus_validate_error_name, dbus_message_set_error_name)
        try raw.set(message.destination, "bus name", dbus_validate_bus_name, dbus_message_set_destination)
        if message.replySerial != 0, dbus_message_set_reply_serial(pointer, message.replySerial) == 0 {
            throw .noMemory
        }
        dbus_message_set_no_reply(pointer, message.expectsReply ? 0 : 1)
        dbus_message_set_auto_start(pointer, message.autoStart ? 1 : 0)

        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(pointer, &iterator)
        for argument in message.arguments {
            guard append(argument, to: &iterator) else { throw .noMemory }
        }
        return raw
    }

    private func set(
        _ text: String?, _ what: String,
        _ validate: (UnsafePointer<CChar>, UnsafeMutablePointer<DBusError>?) -> dbus_bool_t,
        _ assign: (OpaquePointer, UnsafePointer<CChar>) -> dbus_bool_t
    ) throws(NotifyError) {
        guard let text else { return }
        guard !text.utf8.contains(0), validate(text, nil) != 0 else {
            throw NotifyError(.invalidArgument, "“\(text)” is not a valid \(what).")
        }
        guard assign(pointer, text) != 0 else { throw .noMemory }
    }
}

// MARK: - Writing

/// Returns `false` when memory runs out, or the message is larger than D-Bus allows.
private func append(_ value: Value, to iterator: inout DBusMessageIter) -> Bool {
    switch value {
    case .byte(let number): appendBasic(number, value.type, to: &iterator)
    case .boolean(let flag): appendBasic(dbus_bool_t(flag ? 1 : 0), value.type, to: &iterator)
    case .int16(let number): appendBasic(number, value.type, to: &iterator)
    case .uint16(let number): appendBasic(number, value.type, to: &iterator)
    case .int32(let number): appendBasic(number, value.type, to: &iterator)
    case .uint32(let number): appendBasic(number, value.type, to: &iterator)
    case .int64(let number): appendBasic(number, value.type, to: &iterator)
    case .uint64(let number): appendBasic(number, value.type, to: &iterator)
    case .double(let number): appendBasic(number, value.type, to: &iterator)
    case .string(let text), .objectPath(let text), .signature(let text):
        // libdbus wants a pointer to the char *.
        text.withCString { appendBasic($0, value.type, to: &iterator) }
    case .array(let elements, let type):
        appendContainer(DBusType.array, type.signature, to: &iterator) { inner in
            elements.allSatisfy { append($0, to: &inner) }
        }
    case .bytes(let bytes):
        appendContainer(DBusType.array, ValueType.byte.signature, to: &iterator) { inner in
            // libdbus wants a pointer to the pointer, which may not be null.
            bytes.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
                return withUnsafePointer(to: start) {
                    dbus_message_iter_append_fixed_array(&inner, CInt(ValueType.byte.code), $0, CInt(bytes.count)) != 0
                }
            }
        }
    case .dictionary(let entries, let keys, let values):
        appendContainer(DBusType.array, "{" + keys.signature + values.signature + "}", to: &iterator) { inner in
            entries.allSatisfy { key, value in
                appendContainer(DBusType.entry, nil, to: &inner) { append(key, to: &$0) && append(value, to: &$0) }
            }
        }
    case .structure(let members):
        appendContainer(DBusType.structure, nil, to: &iterator) { inner in
            members.allSatisfy { append($0, to: &inner) }
        }
    case .variant(let content):
        appendContainer(DBusType.variant, content.type.signature, to: &iterator) { append(content, to: &$0) }
    }
}

private func appendBasic<Number: BitwiseCopyable>(
    _ number: Number, _ type: ValueType, to iterator: inout DBusMessageIter
) -> Bool {
    withUnsafePointer(to: number) { dbus_message_iter_append_basic(&iterator, CInt(type.code), $0) != 0 }
}

private func appendContainer(
    _ code: CInt, _ signature: String?, to iterator: inout DBusMessageIter, _ fill: (inout DBusMessageIter) -> Bool
) -> Bool {
    var inner = DBusMessageIter()
    guard dbus_message_iter_open_container(&iterator, code, signature, &inner) != 0 else { return false }
    guard fill(&inner) else {
        dbus_message_iter_abandon_container(&iterator, &inner)
        return false
    }
    return dbus_message_iter_close_container(&iterator, &inner) != 0
}

/// The `DBUS_TYPE_*` of containers. Swift does not import macros with casts.
private enum DBusType {
    static let invalid: CInt = 0
    static let array = CInt(UInt8(ascii: "a"))
    static let structure = CInt(UInt8(ascii: "r"))
    static let entry = CInt(UInt8(ascii: "e"))
    static let variant = CInt(UInt8(ascii: "v"))
}

// MARK: - Reading

extension Message {
    /// The most values that a call of another program may hold; the bytes of an array count as one. No method takes as
    /// many, and whoever may call can send megabytes of them.
    static let maximumValuesOfCall = 10_000

    /// Reads a message that libdbus has validated. `nil` when it holds a file descriptor, which a ``Value`` cannot
    /// hold, and when it is a call with too many values.
    init?(decoding raw: OpaquePointer) {
        guard let kind = Kind(rawValue: dbus_message_get_type(raw)) else { return nil }
        var iterator = DBusMessageIter()
        let hasArguments = dbus_message_iter_init(raw, &iterator) != 0
        var reader = ValueReader(remaining: kind == .methodCall ? Self.maximumValuesOfCall : .max)
        guard let arguments = hasArguments ? reader.readAll(&iterator) : [] else { return nil }
        self.init(
            kind: kind,
            path: dbus_message_get_path(raw).map(String.init(cString:)),
            interface: dbus_message_get_interface(raw).map(String.init(cString:)),
            member: dbus_message_get_member(raw).map(String.init(cString:)),
            errorName: dbus_message_get_error_name(raw).map(String.init(cString:)),
            destination: dbus_message_get_destination(raw).map(String.init(cString:)),
            sender: dbus_message_get_sender(raw).map(String.init(cString:)),
            serial: dbus_message_get_serial(raw),
            replySerial: dbus_message_get_reply_serial(raw),
            expectsReply: dbus_message_get_no_reply(raw) == 0,
            autoStart: dbus_message_get_auto_start(raw) != 0,
            arguments: arguments)
    }
}

/// Reads values until there are too many.
private struct ValueReader {
    /// How many more it reads.
    var remaining: Int

    mutating func readAll(_ iterator: inout DBusMessageIter) -> [Value]? {
        var values: [Value] = []
        while dbus_message_iter_get_arg_type(&iterator) != DBusType.invalid {
            guard let value = next(&iterator) else { return nil }
            values.append(value)
        }
        return values
    }

    /// Reads one value, and goes on to the next.
    private mutating func next(_ iterator: inout DBusMessageIter) -> Value? {
        guard remaining > 0 else { return nil }
        remaining -= 1
        defer { dbus_message_iter_next(&iterator) }
        return read(&iterator)
    }

    private mutating func read(_ iterator: inout DBusMessageIter) -> Value? {
        switch dbus_message_iter_get_arg_type(&iterator) {
        case DBusType.array: return readArray(&iterator)
        case DBusType.structure:
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            return readAll(&inner).map(Value.structure)
        case DBusType.variant:
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            return read(&inner).map { .variant($0) }
        case let code:
            return UInt8(exactly: code).flatMap(ValueType.init(code:)).flatMap { readBasic($0, &iterator) }
        }
    }

    private mutating func readArray(_ iterator: inout DBusMessageIter) -> Value? {
        guard dbus_message_iter_get_element_type(&iterator) != CInt(ValueType.byte.code) else {
            return .bytes(readBytes(&iterator))
        }
        guard let signature = dbus_message_iter_get_signature(&iterator) else { return nil }
        defer { dbus_free(signature) }
        let type = ValueType(signature: String(cString: signature))
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        switch type {
        case .array(let element): return readAll(&inner).map { .array($0, of: element) }
        case .dictionary(let keys, let values):
            // Most have a few entries, and each step of growing costs as much as reading one.
            var entries = [Value: Value](minimumCapacity: 8)
            while dbus_message_iter_get_arg_type(&inner) == DBusType.entry {
                var entry = DBusMessageIter()
                dbus_message_iter_recurse(&inner, &entry)
                guard let key = next(&entry), let value = next(&entry) else { return nil }
                entries[key] = value
                dbus_message_iter_next(&inner)
            }
            return .dictionary(entries, keys: keys, values: values)
        default: return nil
        }
    }
}

private func readBasic(_ type: ValueType, _ iterator: inout DBusMessageIter) -> Value? {
    func number<Number: BitwiseCopyable>(_ initial: Number) -> Number {
        var number = initial
        dbus_message_iter_get_basic(&iterator, &number)
        return number
    }
    func text() -> String? { number(UnsafePointer<CChar>?.none).map(String.init(cString:)) }
    switch type {
    case .byte: return .byte(number(0))
    case .boolean: return .boolean(number(dbus_bool_t(0)) != 0)
    case .int16: return .int16(number(0))
    case .uint16: return .uint16(number(0))
    case .int32: return .int32(number(0))
    case .uint32: return .uint32(number(0))
    case .int64: return .int64(number(0))
    case .uint64: return .uint64(number(0))
    case .double: return .double(number(0))
    case .string: return text().map(Value.string)
    case .objectPath: return text().map(Value.objectPath)
    case .signature: return text().map(Value.signature)
    case .variant, .array, .dictionary, .structure: return nil
    }
}

/// The bytes of an array, which are copied once.
private func readBytes(_ iterator: inout DBusMessageIter) -> [UInt8] {
    var inner = DBusMessageIter()
    dbus_message_iter_recurse(&iterator, &inner)
    var start: UnsafePointer<UInt8>?
    var count: CInt = 0
    dbus_message_iter_get_fixed_array(&inner, &start, &count)
    return Array(UnsafeBufferPointer(start: start, count: Int(count)))
}

/// A message in its wire format: for tests of code that reads messages, and to keep one on disk.
///
/// [Wire format](https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-marshaling)
extension Message {
    /// Reads one complete message. `nil` when it is invalid, or when it holds a file descriptor.
    package init?(wire bytes: [UInt8]) {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        let raw = bytes.withUnsafeBytes { bytes in
            dbus_message_demarshal(bytes.bindMemory(to: CChar.self).baseAddress, CInt(clamping: bytes.count), &error)
        }
        guard let raw else { return nil }
        defer { dbus_message_unref(raw) }
        self.init(decoding: raw)
    }

    /// - Throws: `invalidArgument` when the message cannot be sent.
    package func wire() throws(NotifyError) -> [UInt8] {
        let raw = try RawMessage.encoding(self)
        // A message without a serial number is invalid.
        dbus_message_set_serial(raw.pointer, max(serial, 1))
        var start: UnsafeMutablePointer<CChar>?
        var count: CInt = 0
        guard dbus_message_marshal(raw.pointer, &start, &count) != 0, let start else { throw .noMemory }
        defer { dbus_free(start) }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
    }
}

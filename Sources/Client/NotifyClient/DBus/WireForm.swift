internal import CDBus
import Glibc

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
            dbus_message_demarshal(
                bytes.bindMemory(to: CChar.self).baseAddress, CInt(clamping: bytes.count), &error)
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

import Glibc

/// A failed call of libsystemd or libc, with its errno(3).
public struct SystemdError: Error, CustomStringConvertible {
    /// The errno value, positive.
    public let code: CInt
    /// The function that failed.
    public let call: String

    public init(code: CInt, call: String) {
        self.code = code
        self.call = call
    }

    public var description: String { "\(call): \(String(cString: strerror(code)))" }

    /// A text is longer than we read.
    public var isTooLong: Bool { code == EMSGSIZE }

    /// A text holds a noncharacter of Unicode. The bus refuses all other texts that cannot be read.
    public var isNoncharacter: Bool { code == EBADMSG }

    /// The bus name has another owner.
    public var isNameTaken: Bool { code == EEXIST }
}

/// A D-Bus error: a name for programs and a sentence for people.
public struct BusFailure: Error, Equatable, CustomStringConvertible {
    public let name: String
    public let text: String

    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    public var description: String { "\(name): \(text)" }

    /// The bus knows no connection that owns the name.
    public var isNoOwner: Bool { name == "org.freedesktop.DBus.Error.NameHasNoOwner" }

    /// No reply came in time. Proxies may use the second name.
    public var isTimeout: Bool { name == Self.noReply.name || name == "org.freedesktop.DBus.Error.Timeout" }

    static let noReply = BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "no answer came in time")
}

/// Converts libsystemd's return codes to errors: a negative value is an errno.
@discardableResult
func check(_ result: CInt, _ call: String) throws(SystemdError) -> CInt {
    guard result >= 0 else { throw SystemdError(code: -result, call: call) }
    return result
}

/// For calls that fail only through a bug or without memory.
@discardableResult
func must(_ result: CInt, _ call: String) -> CInt {
    precondition(result >= 0, "\(call) cannot fail here, yet: \(String(cString: strerror(-result)))")
    return result
}

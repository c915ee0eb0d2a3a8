import Systemd

/// The credentials of a connection: `GetConnectionCredentials` of the D-Bus specification.
struct Credentials: Equatable, Sendable {
    var user: UInt32?
    /// The process number at the time of the connection, which may have been reused: see `ProcessIdentity`.
    var process: Int32?
    var label: String?

    init(user: UInt32? = nil, process: Int32? = nil, label: String? = nil) {
        self.user = user
        self.process = process
        self.label = label
    }

    /// - Throws: an error reply, such as for a connection that is gone.
    init(_ answer: borrowing BusMessage) throws {
        if let failure = answer.failure { throw failure }
        guard try answer.enter("a", "{sv}") else { return }
        while try answer.enter("e", "sv") {
            switch try answer.readString() {
            case "UnixUserID" where try answer.enter("v", "u"):
                user = try answer.readNumber("u")
                try answer.leave()
            case "ProcessID" where try answer.enter("v", "u"):
                let number: UInt32 = try answer.readNumber("u")
                process = Int32(exactly: number)
                try answer.leave()
            case "LinuxSecurityLabel" where try answer.enter("v", "ay"):
                label = Self.label(try Self.bytes(answer))
                try answer.leave()
            default: try answer.skip("v")
            }
            try answer.leave()
        }
    }

    private static func bytes(_ answer: borrowing BusMessage) throws -> [UInt8] {
        var bytes: [UInt8] = []
        guard try answer.enter("a", "y") else { return bytes }
        while try answer.peek() != nil { bytes.append(try answer.readNumber("y")) }
        try answer.leave()
        return bytes
    }

    /// The label as in rules: without the NUL at its end and without AppArmor's mode.
    static func label(_ bytes: [UInt8]) -> String? {
        guard let text = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self), !text.isEmpty else { return nil }
        for mode in [" (enforce)", " (complain)", " (kill)", " (unconfined)", " (mixed)"] where text.hasSuffix(mode) {
            return String(text.dropLast(mode.count))
        }
        return text
    }
}

import NotifyClient

/// Sends hostile calls by the hundred, and looks at every answer.
struct Attacker {
    /// Names an error may have, beside those of the interface: what the bus and libsystemd say of calls that are wrong.
    static let standardErrors: Set<String> = [
        "InvalidArgs", "UnknownMethod", "UnknownObject", "UnknownInterface", "UnknownProperty", "PropertyReadOnly",
        "AccessDenied", "InconsistentMessage", "InvalidSignature", "NotSupported",
    ]
    static let ownErrors: Set<String> = [
        "InvalidTopic", "InvalidEvent", "UnknownEvent", "UnknownScreen", "NotClaimant", "TooLarge", "LimitExceeded",
        "AccessDenied",
    ]
    /// A refusal of ours explains, and does not repeat what was sent; libsystemd's do.
    static let longestRefusal = 1000
    private static let batch = 200

    private let address: String
    private var calls: HostileCalls
    private(set) var sent = 0
    private(set) var accepted = 0
    private(set) var refusals: [String: Int] = [:]
    private(set) var connections = 0
    /// Answers that should not be, each with what it says.
    private(set) var faults: [String] = []

    init(_ address: String, seed: UInt64) {
        self.address = address
        calls = HostileCalls(seed: seed)
    }

    /// Makes so many calls, over many connections.
    ///
    /// - Parameter isWanted: asked after every few hundred calls, whether to go on.
    mutating func attack(_ count: Int, while isWanted: () -> Bool) throws {
        var connection: RawConnection?
        while sent < count, faults.count < 10, isWanted() {
            if connection == nil {
                connection = try RawConnection(address)
                connections += 1
            }
            var bytes: [UInt8] = []
            var expected = 0
            for _ in 0..<min(Self.batch, count - sent) {
                let message = calls.next()
                bytes += message.bytes
                if message.expectsReply { expected += 1 }
                sent += 1
            }
            let leaves = calls.malice.below(8)
            if leaves == 2 {
                connection?.writeWithDescriptor(calls.callWithDescriptor().bytes)
                expected += 1
            }
            if leaves == 0 { bytes += calls.garbage() }
            connection?.write(bytes)
            // Some do not wait for what they asked.
            if leaves != 1, try !takeAnswers(expected, from: connection!, isGarbled: leaves == 0), leaves > 0 {
                faults.append("the bus has hung up on calls that are right in form")
                connection = nil
            }
            if leaves <= 2 { connection = nil }
        }
    }

    /// - Returns: false when the bus has hung up before the last one.
    private mutating func takeAnswers(_ expected: Int, from connection: RawConnection, isGarbled: Bool) throws -> Bool {
        var missing = expected
        while missing > 0 {
            guard let message = try connection.read() else { return false }
            switch message.kind {
            case .methodReturn: note(message)
            // What was garbled may still be a message, to somebody who is not there.
            case .error where isGarbled && message.sender == Bus.name: break
            case .error: check(message)
            // Who does not answer gets no more long replies.
            case .methodCall:
                connection.answer(message)
                continue
            case .signal: continue
            }
            missing -= 1
        }
        return true
    }

    private mutating func note(_ reply: Message) {
        accepted += 1
        guard case .uint64(let identifier)? = reply.arguments.first else { return }
        if calls.known.count == 200 { calls.known.removeFirst(100) }
        calls.known.append(identifier)
    }

    private mutating func check(_ error: Message) {
        let name = error.errorName ?? ""
        refusals[name, default: 0] += 1
        let own = name.split(separator: "org.notifyd.Router1.Error.").last.map(String.init)
        let standard = name.split(separator: "org.freedesktop.DBus.Error.").last.map(String.init)
        let isNamed = own.map(Self.ownErrors.contains) == true || standard.map(Self.standardErrors.contains) == true
        let text = error.arguments.first?.string ?? ""
        let isTooLong = name.hasPrefix(Router.interface) && text.utf8.count > Self.longestRefusal
        if !isNamed || text.isEmpty || isTooLong {
            faults.append("\(name): \(text.prefix(200))")
        }
    }
}

import Glibc
import NotifyClient
import NotifyRehearsal

/// A connection to a bus without a library: what is written is what goes out. It blocks, and belongs to one thread.
final class RawConnection {
    /// Longer than this nobody waits for an answer.
    private static let patience: CInt = 30_000

    private let descriptor: CInt
    private var received: [UInt8] = []
    private var start = 0

    /// Connects to an address such as `unix:path=/tmp/bus`, and says hello.
    init(_ address: String) throws {
        let path = String(address.dropFirst("unix:path=".count))
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard withSocketAddress(of: path, { connect(descriptor, $0, $1) }) == 0 else {
            throw RehearsalError("The bus cannot be reached: \(String(cString: strerror(errno))).")
        }
        let user = String(getuid()).utf8.map { String($0, radix: 16) }.joined()
        write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        guard try readLine()?.hasPrefix("OK") == true else { throw RehearsalError("The bus does not want us.") }
        write(Array("NEGOTIATE_UNIX_FD\r\n".utf8))
        guard try readLine()?.hasPrefix("AGREE") == true else { throw RehearsalError("The bus takes no descriptors.") }
        write(Array("BEGIN\r\n".utf8))
        let hello = WireMessage(
            path: Bus.path, interface: Bus.interface, member: "Hello", destination: Bus.name)
        write(hello.bytes)
        guard try read()?.kind == .methodReturn else { throw RehearsalError("The bus does not answer.") }
    }

    deinit {
        close(descriptor)
    }

    /// Writes all of it, unless the bus has hung up, which `read` finds out.
    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Writes a short message, with a descriptor of our own beside it.
    func writeWithDescriptor(_ bytes: [UInt8]) {
        // A cmsghdr and its descriptor, unix(7); Swift does not see the macros that make one.
        var control = [UInt8](repeating: 0, count: 24)
        control.withUnsafeMutableBytes { control in
            control.storeBytes(of: 20, as: Int.self)
            control.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
            control.storeBytes(of: 1, toByteOffset: 12, as: CInt.self)
            control.storeBytes(of: descriptor, toByteOffset: 16, as: CInt.self)
        }
        var bytes = bytes
        bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                var header = msghdr()
                header.msg_iovlen = 1
                header.msg_control = control.baseAddress
                header.msg_controllen = control.count
                withUnsafeMutablePointer(to: &vector) { vector in
                    header.msg_iov = vector
                    _ = sendmsg(descriptor, &header, CInt(MSG_NOSIGNAL))
                }
            }
        }
    }

    /// The next message; `nil` when the bus has hung up.
    func read() throws -> Message? {
        guard try fill(16) else { return nil }
        let isLittle = received[start] == UInt8(ascii: "l")
        func number(_ offset: Int) -> Int {
            let bytes = received[start + offset..<start + offset + 4]
            return (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
        }
        let length = (16 + number(12) + 7) / 8 * 8 + number(4)
        guard try fill(length) else { return nil }
        defer { start += length }
        guard let message = Message(wire: Array(received[start..<start + length])) else {
            throw RehearsalError("The bus has handed on a message that libdbus does not understand.")
        }
        return message
    }

    /// Answers a call, such as `Ping`, with an empty reply.
    func answer(_ call: Message) {
        var reply = WireMessage(kind: .reply, flags: 1, member: "Ping")
        reply.destination = call.sender ?? ""
        reply.replySerial = call.serial
        write(reply.bytes)
    }

    private func readLine() throws -> String? {
        while true {
            if let end = received[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return String(decoding: received[start..<end], as: UTF8.self)
            }
            guard try fill(received.count - start + 1) else { return nil }
        }
    }

    /// Waits until so many bytes are there; false when the bus has hung up before.
    private func fill(_ count: Int) throws -> Bool {
        guard received.count - start < count else { return true }
        received.removeFirst(start)
        start = 0
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while received.count < count {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, Self.patience) > 0 else {
                throw RehearsalError("No answer came within \(Self.patience / 1000) s.")
            }
            let more = recv(descriptor, &buffer, buffer.count, 0)
            guard more > 0 else { return false }
            received.append(contentsOf: buffer[..<more])
        }
        return true
    }
}

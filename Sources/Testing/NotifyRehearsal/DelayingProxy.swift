import Glibc
import NotifyClient

/// A TCP proxy to ports of this machine that hands everything on after a while, in its order: a broker that is far
/// away, or a cluster of brokers behind one address.
package final class DelayingProxy: Sendable {
    package struct Traffic: Sendable {
        /// Bytes to the broker.
        package fileprivate(set) var sent = 0
        /// Bytes from the broker.
        package fileprivate(set) var received = 0
    }

    /// Where it listens, on 127.0.0.1.
    package let port: UInt16
    private let listener: CInt
    private let state = Locked(Traffic())

    /// - Parameters:
    ///   - targets: a connection goes to the first one where somebody listens.
    ///   - delay: each way.
    package init(to targets: [UInt16], delay: Duration = .zero) throws(RehearsalError) {
        port = try freePort()
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard onAddress(port, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw RehearsalError("The proxy cannot listen", number: errno)
        }
        let (descriptor, traffic) = (listener, state)
        onOwnThread {
            while true {
                let near = accept(descriptor, nil, nil)
                guard near >= 0 else { return }
                if let far = targets.lazy.compactMap(connection).first {
                    onOwnThread {
                        var relay = Relay(near, far, delay, traffic)
                        relay.run()
                    }
                } else {
                    Glibc.close(near)
                }
            }
        }
    }

    package var traffic: Traffic { state.withLock { $0 } }

    /// Takes no more connections; those that are there end with their peers.
    package func close() {
        shutdown(listener, CInt(SHUT_RDWR))
        Glibc.close(listener)
    }

    /// One connection; used on its own thread.
    private struct Relay {
        private struct Direction {
            let from: CInt
            let to: CInt
            /// What was read and is not written yet, and when it is due. Nothing means the end.
            var queue: [(due: UInt64, bytes: [UInt8])] = []
            var written = 0
            var hasEnded = false
            var isBlocked = false
        }

        private var directions: [Direction]
        private let delay: UInt64
        private let state: Locked<Traffic>

        init(_ near: CInt, _ far: CInt, _ delay: Duration, _ state: Locked<Traffic>) {
            for descriptor in [near, far] {
                var yes: CInt = 1
                setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
                _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            }
            directions = [Direction(from: near, to: far), Direction(from: far, to: near)]
            self.delay = UInt64(delay / .nanoseconds(1))
            self.state = state
        }

        mutating func run() {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while directions.contains(where: { !$0.hasEnded || !$0.queue.isEmpty }) {
                for index in directions.indices { guard write(index) else { return end() } }
                let now = moment()
                let due = directions.filter { !$0.isBlocked }.compactMap(\.queue.first?.due).min()
                let ready = select(
                    reading: directions.filter { !$0.hasEnded }.map(\.from),
                    writing: directions.filter(\.isBlocked).map(\.to), within: due.map { $0 > now ? $0 - now : 0 })
                for index in directions.indices where ready.contains(directions[index].from) {
                    guard read(index, &buffer) else { return end() }
                }
                for index in directions.indices { directions[index].isBlocked = false }
            }
            end()
        }

        private mutating func read(_ index: Int, _ buffer: inout [UInt8]) -> Bool {
            let count = recv(directions[index].from, &buffer, buffer.count, 0)
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            state.withLock { if index == 0 { $0.sent += count } else { $0.received += count } }
            directions[index].queue.append((moment() + delay, Array(buffer[..<count])))
            if count == 0 { directions[index].hasEnded = true }
            return true
        }

        private mutating func write(_ index: Int) -> Bool {
            while let (due, bytes) = directions[index].queue.first, due <= moment() {
                if bytes.isEmpty {
                    shutdown(directions[index].to, CInt(SHUT_WR))
                } else {
                    let start = directions[index].written
                    let count = bytes.withUnsafeBytes {
                        send(directions[index].to, $0.baseAddress! + start, bytes.count - start, CInt(MSG_NOSIGNAL))
                    }
                    if count < 0 {
                        directions[index].isBlocked = errno == EAGAIN
                        return errno == EAGAIN || errno == EINTR
                    }
                    directions[index].written += count
                    guard directions[index].written == bytes.count else { continue }
                    directions[index].written = 0
                }
                directions[index].queue.removeFirst()
            }
            return true
        }

        private func end() {
            for direction in directions { Glibc.close(direction.from) }
        }
    }
}

/// A connection to a port of this machine; `nil` where nobody listens.
private func connection(to port: UInt16) -> CInt? {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if onAddress(port, { connect(descriptor, $0, $1) }) == 0 { return descriptor }
    close(descriptor)
    return nil
}

/// Waits until one of some descriptors is ready, and returns those that can be read. poll(2) knows no less than a
/// millisecond.
private func select(reading: [CInt], writing: [CInt], within nanoseconds: UInt64?) -> Set<CInt> {
    var (readable, writable) = (fd_set(), fd_set())
    for descriptor in reading { set(descriptor, in: &readable) }
    for descriptor in writing { set(descriptor, in: &writable) }
    let time = nanoseconds ?? 0
    var timeout = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    let highest = (reading + writing).max() ?? -1
    let count = withUnsafePointer(to: &timeout) {
        pselect(highest + 1, &readable, &writable, nil, nanoseconds == nil ? nil : $0, nil)
    }
    return count > 0 ? Set(reading.filter { isSet($0, in: &readable) }) : []
}

private func set(_ descriptor: CInt, in set: inout fd_set) {
    withUnsafeMutableBytes(of: &set) { $0[Int(descriptor) / 8] |= 1 << (descriptor % 8) }
}

private func isSet(_ descriptor: CInt, in set: inout fd_set) -> Bool {
    withUnsafeBytes(of: &set) { $0[Int(descriptor) / 8] & 1 << (descriptor % 8) != 0 }
}

/// Whether somebody listens on a port of this machine.
package func isListening(on port: UInt16) -> Bool {
    guard let descriptor = connection(to: port) else { return false }
    close(descriptor)
    return true
}

/// Nanoseconds of a monotonic clock.
package func moment() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Calls a function with the address of a port of this machine.
private func onAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

import Linking
import Logging
import NotifyBridge
import NotifyClient
import NotifyText

/// `org.notifyd.Link1`, for `notifyctl link`. systemd/org.notifyd.Link1.xml is its contract.
extension LinkBridge {
    static let interface = "org.notifyd.Link1"
    private static let longestTest = 60_000

    func exportMethods() {
        services.export(
            BridgeInterface(
                Self.interface,
                [
                    BridgeMethod("List", out: [("link", "a{sv}"), ("lines", "aa{sv}")]) { [weak self] _ in
                        try await Self.current(self).list()
                    },
                    BridgeMethod("Test", in: [("timeout", "u")], out: [("devices", "aa{sv}")]) {
                        [weak self] arguments in
                        let limit: Int = arguments[0].integer() ?? 0
                        guard 1...Self.longestTest ~= limit else {
                            throw BridgeMethodError(
                                "org.freedesktop.DBus.Error.InvalidArgs",
                                "The timeout is 1 to \(Self.longestTest) milliseconds.")
                        }
                        return [Self.array(try await Self.current(self).runTest(.milliseconds(limit)))]
                    },
                    BridgeMethod("ForgetDevice", in: [("device", "s")]) { [weak self] arguments in
                        try await Self.current(self).forget(arguments[0].string ?? "")
                        return []
                    },
                    BridgeMethod("Leave", in: [("silent", "b")]) { [weak self] arguments in
                        try await Self.current(self).leave(isSilent: arguments[0].boolean ?? false)
                        return []
                    },
                ]))
    }

    /// The bridge of new settings exports its own methods.
    private static func current(_ bridge: LinkBridge?) throws -> LinkBridge {
        guard let bridge else { throw notConnected }
        return bridge
    }

    private static func error(_ name: String, _ message: String) -> BridgeMethodError {
        BridgeMethodError("\(interface).Error.\(name)", message)
    }

    private static var notConnected: BridgeMethodError {
        error("NotConnected", "The broker is not connected. Try again when \"notifyctl link\" says that it is.")
    }

    private static func array(_ entries: [[String: Value]]) -> Value {
        .array(entries.map { .variants($0) }, of: .dictionary(keys: .string, values: .variant))
    }

    // MARK: List

    private func list() async -> [Value] {
        await onLoop { [self] in
            let link: [String: Value] = [
                "device": .string(device?.description ?? ""), "name": .string(settings.name),
                "broker": .string("\(settings.server)"), "user": .string(settings.user),
            ]
            return [.variants(link), Self.array(lines.map(\.properties))]
        }
    }

    // MARK: Test

    private func runTest(_ limit: Duration) async throws -> [[String: Value]] {
        let rows: Result<[[String: Value]], BridgeMethodError> = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                guard testing == nil else {
                    return continuation.resume(
                        returning: .failure(Self.error("Busy", "A test is under way; wait for its end.")))
                }
                let lines = lines.filter(\.isConnected)
                guard !lines.isEmpty else { return continuation.resume(returning: .failure(Self.notConnected)) }
                let id = UInt64.random(in: 1...UInt64(Int64.max))
                for line in lines { line.handle(.test(id)) }
                testing = RunningTest(id: id, lines: lines) {
                    continuation.resume(returning: .success(lines.flatMap { $0.answers(to: id) }))
                }
                loop.perform(after: limit) { [self] in
                    if testing?.id == id { endTest() }
                }
                checkTest()
            }
        }
        return try rows.get()
    }

    /// Ends the test if all have answered. A line that has ended gets no more answers.
    func checkTest() {
        guard let testing else { return }
        let isOver =
            lines.isEmpty || testing.lines.allSatisfy { $0.link.test?.id != testing.id || $0.link.test!.isComplete }
        if isOver { endTest() }
    }

    private func endTest() {
        let testing = testing
        self.testing = nil
        testing?.end()
    }

    // MARK: Forget

    private func forget(_ text: String) async throws {
        guard let device = Device(text) else {
            throw BridgeMethodError(
                "org.freedesktop.DBus.Error.InvalidArgs", "A device is 32 lower-case hexadecimal digits.")
        }
        let error: BridgeMethodError? = await onLoop { [self] in
            let known = lines.filter { line in line.link.peerStates.contains { $0.device == device } }
            guard !known.isEmpty else { return Self.error("UnknownDevice", "No line has a device \(device).") }
            let isOnline = known.contains { line in line.link.peerStates.contains { $0.device == device && $0.isOnline }
            }
            guard !isOnline else {
                return Self.error(
                    "DeviceOnline",
                    "This device is online, and would be back at once. It can leave the link by itself; if it is "
                        + "lost, change the password and the key."
                )
            }
            guard known.allSatisfy(\.isConnected) else { return Self.notConnected }
            for line in known { line.handle(.deviceForgotten(device)) }
            return nil
        }
        if let error { throw error }
        // It is on disk when this is.
        try await services.store.write([])
    }

    // MARK: Leave

    /// - Parameter isSilent: whether nothing is sent to the broker and the others.
    private func leave(isSilent: Bool) async throws {
        if isSilent {
            await onLoop { [self] in stopLines() }
        } else {
            let isTold = await withCheckedContinuation { continuation in
                loop.perform { [self] in leaveLines { continuation.resume(returning: $0) } }
            }
            guard isTold else { throw Self.notConnected }
        }
        let store = services.store
        // The members of channels accept nothing from this device that another key has signed.
        let kept = [Self.deviceKey, Self.signerKey]
        try await store.write(try await store.all().map(\.key).filter { !kept.contains($0) }.map { .remove($0) })
        _ = try await store.forgetLetters()
        services.logger.notice("This device has left the link")
        await onLoop { [self] in finish() }
    }
}

/// A test that is under way.
struct RunningTest {
    let id: UInt64
    let lines: [LineShell]
    /// Answers the call.
    let end: () -> Void
}

extension LineShell {
    /// As `List` returns it.
    fileprivate var properties: [String: Value] {
        [
            "line": .string(name), "state": .string(condition.state.rawValue),
            "detail": .string(condition.detail), "unopened": .uint64(UInt64(link.unopenedMessages)),
            "forged": .uint64(UInt64(link.forgedMessages)), "crowded": .boolean(link.isCrowded),
            "sealed": .boolean(isSealed), "backlog": .uint64(UInt64(link.backlog)),
            "round-trip": .uint64(roundTrip.map(\.wholeMicroseconds) ?? 0),
            "devices": .array(
                link.peerStates.map { .variants($0.properties) }, of: .dictionary(keys: .string, values: .variant)),
        ]
    }

    /// The devices that got a `ping`.
    fileprivate func answers(to id: UInt64) -> [[String: Value]] {
        guard let test = link.test, test.id == id else { return [] }
        let names = Dictionary(uniqueKeysWithValues: link.peerStates.map { ($0.device, $0.name) })
        return test.times.keys.sorted().map { device in
            var answer: [String: Value] = [
                "line": .string(name), "device": .string(device.description), "name": .string(names[device] ?? ""),
            ]
            if case .some(.some(let time)) = test.times[device] {
                answer["round-trip"] = .uint64(time.wholeMicroseconds)
            }
            return answer
        }
    }
}

extension Link.PeerState {
    fileprivate var properties: [String: Value] {
        [
            "device": .string(device.description), "name": .string(name), "online": .boolean(isOnline),
            "seen": .int64(seen), "behind": .boolean(isBehind), "clock-offset": .int64(clockOffset),
            "round-trip": .uint64(roundTrip.map(\.wholeMicroseconds) ?? 0), "attended": .uint32(UInt32(attended)),
        ]
    }
}

extension Duration {
    fileprivate var wholeMicroseconds: UInt64 { UInt64(max(0, microseconds)) }
}

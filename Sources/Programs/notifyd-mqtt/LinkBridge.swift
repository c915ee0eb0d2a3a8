public import Linking
import Mosquitto
public import NotifyBridge
import NotifyClient
import Routing
public import TOMLTables
import UserFiles

/// The link between devices over MQTT: `notifyd-mqtt`. Lines start when notifyd is there and the property `Device` is
/// known.
@main
public final class LinkBridge: Bridge, @unchecked Sendable {
    // Proof: everything that changes is used on `loop` only.

    public static let name = "mqtt"
    public static let abstract = "Links the notifyd of several devices over an MQTT broker."

    let settings: LinkSettings
    let services: BridgeServices
    var loop: WorkLoop { services.loop }
    var lines: [LineShell] = []
    private var maps: MapShell?
    var device: Device?
    private var attended: [String] = []
    private var isDaemonThere = false
    /// Whether the status is about to be updated, or was a moment ago.
    private var isStatusScheduled = false
    var isStopped = false
    /// Whether the device has left, or is about to.
    private var isLeaving = false
    private var startTask: Task<Void, Never>?
    /// Ends `run`.
    private var end: AsyncStream<Void>.Continuation?
    /// The test that is under way.
    var testing: RunningTest?

    public static func settings(from table: inout TableReader) -> LinkSettings? {
        .read(from: &table, host: HostName.short)
    }

    public static func mistakes(in settings: LinkSettings, isRunning: Bool) -> [String] {
        settings.mistakes(isRunning: isRunning)
    }

    public init(_ settings: LinkSettings, _ services: BridgeServices) {
        self.settings = settings
        self.services = services
        exportMethods()
    }

    public func run() async throws {
        let observation = services.daemon.observe([.attention]) { [self] notice in handle(notice) }
        let (end, continuation) = AsyncStream<Void>.makeStream()
        loop.perform { self.end = continuation }
        await withTaskCancellationHandler {
            for await _ in end {}
        } onCancel: {
            continuation.finish()
        }
        withExtendedLifetime(observation) {}
        await onLoop { [self] in
            isStopped = true
            for line in lines { line.handle(.ending) }
            endLines()
        }
    }

    public func check() async { await onLoop {} }

    func onLoop<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume(returning: body()) }
        }
    }

    // MARK: notifyd

    private func handle(_ notice: DaemonNotice) {
        guard !isStopped, !isLeaving else { return }
        switch notice {
        case .appeared:
            isDaemonThere = true
            findDevice()
        case .vanished:
            isDaemonThere = false
            startTask?.cancel()
            // Programs that are still there open their screens again at the next notifyd.
            for topic in attended { screenChanged(topic, isAttended: false) }
            attended = []
            for line in lines { line.handle(.daemonVanished) }
            maps?.daemonVanished()
            if lines.isEmpty { services.status.set(.waiting, "notifyd is not there") }
        case .attention(let attention):
            attended.removeAll { $0 == attention.topic }
            if attention.isAttended { attended.append(attention.topic) }
            screenChanged(attention.topic, isAttended: attention.isAttended)
        case .event, .resolved, .removed, .action: break
        }
    }

    private func screenChanged(_ topic: String, isAttended: Bool) {
        guard let prefix = try? TopicPrefix(topic) else { return }
        for line in lines { line.handle(.screenChanged(prefix, isAttended: isAttended)) }
    }

    /// Asks notifyd which device this is, and starts the lines, or goes on with them.
    private func findDevice() {
        startTask?.cancel()
        startTask = loop.task { [self] in
            var backoff = Backoff(upTo: .seconds(30))
            while !Task.isCancelled {
                let reply = try? await services.daemon.connection.call(.toProperties("Get", [.string("Device")]))
                if let device = reply?.arguments.first?.string.flatMap({ Device($0) }) {
                    do {
                        let prepared = try await prepareLines(of: device)
                        loop.perform { self.startLines(of: device, prepared) }
                        return
                    } catch {
                        services.status.set(
                            .failed, "\(error)",
                            advice: error is CredentialError ? BridgeStatus.correction(of: Self.name) : nil)
                    }
                } else {
                    services.status.set(
                        .waiting, "notifyd does not say which device this is; its journal cannot be read")
                }
                await loop.sleep(for: backoff.next())
            }
        }
    }

    private func startLines(of device: Device, _ prepared: [Prepared]) {
        guard isDaemonThere, !isStopped, !isLeaving else { return }
        if self.device != device || lines.isEmpty {
            endLines()
            self.device = device
            services.status.set(.connecting, "\(settings.server)")
            lines = prepared.map { prepared in
                LineShell(
                    prepared.configuration, prepared.cipher, device: device, settings: settings,
                    records: prepared.records, services: services, loop: loop
                ) { [weak self] in
                    self?.checkTest()
                    self?.scheduleStatus()
                }
            }
            if let link = prepared.first, !settings.maps.isEmpty {
                maps = MapShell(settings, cipher: link.cipher, services: services, loop: loop) { [weak self] in
                    self?.scheduleStatus()
                }
            }
            for line in lines { line.start() }
            for topic in attended { screenChanged(topic, isAttended: true) }
        }
        for line in lines { line.handle(.daemonAppeared) }
        maps?.daemonAppeared()
    }

    private func endLines() {
        for line in lines { line.stop() }
        lines = []
        maps?.stop()
        maps = nil
        checkTest()
        startTask?.cancel()
    }

    // MARK: Leaving

    /// Tells the other devices on each line that this one leaves.
    ///
    /// - Parameter completion: gets whether the brokers have acknowledged it. If not, the lines begin again.
    func leaveLines(_ completion: @escaping (Bool) -> Void) {
        guard !isLeaving, !lines.isEmpty, lines.allSatisfy(\.isConnected) else { return completion(false) }
        isLeaving = true
        var results: [Bool] = []
        for line in lines {
            line.leave { [self] isTold in
                results.append(isTold)
                guard results.count == lines.count else { return }
                let areAllTold = results.allSatisfy { $0 }
                endLines()
                if !areAllTold {
                    isLeaving = false
                    if isDaemonThere { findDevice() }
                }
                completion(areAllTold)
            }
        }
    }

    /// Stops all lines without telling the other devices.
    func stopLines() {
        isLeaving = true
        endLines()
    }

    /// Ends the program.
    func finish() { end?.finish() }

    // MARK: Lines

    private struct Prepared: Sendable {
        var configuration: Linking.Configuration
        var cipher: LineCipher
        var records: [Record]
    }

    /// The record with the device whose state this is.
    static let deviceKey = "device"
    /// The private key of this device on channels.
    static let signerKey = "signer"

    private func prepareLines(of device: Device) async throws -> [Prepared] {
        let store = services.store
        let known = try await store.value(Self.deviceKey).map { String(decoding: $0, as: UTF8.self) }
        var signer: SigningKey?
        if settings.lines.contains(where: { $0.channel != nil }) {
            signer = try await store.value(Self.signerKey).flatMap(SigningKey.init)
            if signer == nil {
                let new = SigningKey()
                try await store.write([.put(Self.signerKey, new.bytes)])
                signer = new
            }
        }
        var prepared: [Prepared] = []
        var changes: [RecordChange] = []
        let isKnown = known == nil || known == device.description
        let goesOn = isKnown ? true : try await journalGoesOn()
        for line in settings.lines {
            let keys = try line.keys.map { credential in
                guard let key = LineKey(try credential.read()) else { throw credential.noKey }
                return key
            }
            let cipher = LineCipher(own: device, keys: keys, signer: line.channel == nil ? nil : signer)
            let kind: Linking.Configuration.Kind =
                line.channel.map { .channel(name: $0, signer: Signer(signer!.description)) } ?? .link
            // A digest reports the quiet hours of this device; other devices have shown their banners.
            let skip = line.skip + [DigestTally.topic, DigestTally.awayTopic].map { TopicPrefix($0) }
            let configuration = Linking.Configuration(
                kind: kind, name: settings.name, share: line.share, skip: skip, isSealed: cipher.isSealed,
                tellsScreens: line.tellsScreens, digest: { cipher.digest(of: $0) })
            let coding = RecordCoding(line: configuration.line)
            var records: [Record] = []
            for (key, value) in try await store.all(prefix: coding.prefix) {
                guard let record = coding.decode(key, value) else { continue }
                if isKnown {
                    records.append(record)
                } else if !goesOn {
                    changes.append(.remove(key))
                } else if case .line(let line) = record {
                    records.append(.line(line.reset))
                    changes.append(RecordChange(.line(line.reset), coding))
                } else {
                    records.append(record)
                }
            }
            prepared.append(Prepared(configuration: configuration, cipher: cipher, records: records))
        }
        if known != device.description {
            changes.append(.put(Self.deviceKey, text: device.description))
            try await store.write(changes)
        }
        return prepared
    }

    /// A device has another name after `notifyctl link reset`, and then its journal goes on; a new journal has a new
    /// name too, and then nothing that came from others is in it.
    private func journalGoesOn() async throws -> Bool {
        let coding = RecordCoding(line: "mqtt")
        guard let bytes = try await services.store.value(coding.lineKey),
            case .line(let line) = coding.decode(coding.lineKey, bytes)
        else { return false }
        guard let page = await services.daemon.perform(.changes(after: 0, limit: 1)).changes else {
            throw BridgeFailure(75, "the journal of notifyd cannot be read")
        }
        return page.oldest <= line.seen
    }

    // MARK: What people see

    /// Updates the status, at most once a second.
    private func scheduleStatus() {
        guard !isStatusScheduled else { return }
        isStatusScheduled = true
        loop.perform(after: .milliseconds(20)) { [weak self] in
            guard let self else { return }
            updateStatus()
            loop.perform(after: .seconds(1)) { [weak self] in
                guard let self else { return }
                isStatusScheduled = false
                if !isStopped { updateStatus() }
            }
        }
    }

    private func updateStatus() {
        guard !isStopped, !lines.isEmpty else { return }
        let order: [BridgeStatus.State] = [.failed, .waiting, .connecting, .connected]
        let conditions = lines.map(\.condition) + [maps?.condition].compactMap { $0 }
        let worst = order.lazy.compactMap { state in
            let alike = conditions.filter { $0.state == state }
            return alike.first(where: \.isAlarming) ?? alike.first
        }.first
        if let worst { services.status.set(worst.state, worst.detail, advice: worst.advice) }
        services.status.setBacklog(UInt64(lines.reduce(0) { $0 + $1.link.backlog }))
        if let time = lines.lazy.compactMap(\.roundTrip).first { services.status.setRoundTrip(time) }
        services.status.setPeers(
            lines.flatMap(\.link.peerStates).map { peer in
                BridgeStatus.Peer(
                    device: peer.device.description, name: peer.name, isOnline: peer.isOnline, seen: peer.seen,
                    behind: peer.isBehind ? 1 : 0)
            })
    }
}

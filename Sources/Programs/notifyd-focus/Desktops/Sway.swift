import Glibc
import NotifyText
import Systemd
import Watching

/// The windows of sway or i3, over their socket; sway-ipc(7).
///
/// What an event says of a window counts at once. Which windows can be seen only the whole tree says: it is asked for
/// after events that may change that, but not more often than ``pause`` lets it, because it is long. Of a new layout
/// (tabs, stacks) there is no event, but there is one of the key that has made it.
final class SwaySource: WindowSource {
    /// Microseconds between two trees.
    private static let pause: Int64 = 50_000
    /// A window is about sixty values, and each container around it two levels.
    private static let (mostValues, mostLevels) = (1 << 20, 128)

    private let report: (SourceReport) -> Void
    private var socket: SwaySocket?
    private var timer: EventSource?
    private var windows: [Window] = []
    /// Whether the answer to a question for the tree has not come yet.
    private var awaitsTree = false
    /// Whether something has changed since the question.
    private var wantsTree = false
    private var nextTree: Int64 = 0

    init(path: String, loop: EventLoop, report: @escaping (SourceReport) -> Void) throws {
        self.report = report
        socket = try SwaySocket(
            path: path, loop: loop, received: { [weak self] in self?.receive($0, $1) },
            lost: { report(.ended($0)) })
        timer = try loop.timer(.monotonic) { [unowned self] in askForTree() }
        socket?.send(.subscribe, #"["window","workspace","binding","shutdown"]"#)
        askForTree()
    }

    // MARK: The tree

    private func askForTree() {
        guard !awaitsTree else {
            wantsTree = true
            return
        }
        let now = Clock.monotonic()
        guard now >= nextTree else {
            timer?.arm(at: nextTree)
            return
        }
        wantsTree = false
        nextTree = now + Self.pause
        awaitsTree = socket?.send(.tree) ?? false
    }

    private func receive(_ kind: SwaySocket.Kind, _ payload: [UInt8]) {
        switch kind {
        case .shutdownEvent: return
        case .bindingEvent: return askForTree()
        case .subscribe, .tree, .workspaceEvent, .windowEvent: break
        }
        // A title may be anything; JSON is UTF-8.
        let payload =
            Encoding.firstFault(in: payload) == nil ? payload : Array(String(decoding: payload, as: UTF8.self).utf8)
        let parsed = try? JSONParser.parse(payload, depthLimit: Self.mostLevels, valueLimit: Self.mostValues)
        guard let content = parsed else {
            return report(.ended("the compositor sends JSON that cannot be read: sway-ipc(7)"))
        }
        switch kind {
        case .subscribe:
            if content["success"]?.boolean != true { report(.ended("the compositor does not report its windows")) }
        case .tree:
            awaitsTree = false
            windows = SwayTree.windows(in: content)
            report(.windows(windows))
            if wantsTree { askForTree() }
        case .workspaceEvent:
            if !["urgent", "rename", "reload"].contains(content["change"]?.string ?? "") { askForTree() }
        case .windowEvent: apply(content)
        case .bindingEvent, .shutdownEvent: break
        }
    }

    // MARK: Events

    private func apply(_ event: JSON) {
        guard let node = event["container"], let window = SwayTree.window(node, isVisible: true) else {
            return askForTree()
        }
        let place = windows.firstIndex { $0.id == window.id }
        switch (event["change"]?.string, place) {
        case ("mark", _), ("urgent", _): return
        case ("title", let place?):
            windows[place] = Window(
                id: window.id, number: window.number, app: window.app, instance: window.instance, title: window.title,
                isFocused: windows[place].isFocused, isVisible: windows[place].isVisible)
            report(.windows(windows))
        case ("focus", let place?):
            for index in windows.indices { windows[index].isFocused = index == place }
            windows[place].isVisible = true
            report(.windows(windows))
            askForTree()
        default: askForTree()
        }
    }
}

/// A connection to the socket of sway or i3, with the framing of sway-ipc(7).
final class SwaySocket {
    /// The types of messages that are used.
    enum Kind: UInt32 {
        case subscribe = 2
        case tree = 4
        case workspaceEvent = 0x8000_0000
        case windowEvent = 0x8000_0003
        case bindingEvent = 0x8000_0005
        case shutdownEvent = 0x8000_0006
    }

    private static let magic = Array("i3-ipc".utf8)
    private static let headerBytes = 14
    /// A thousand windows are a few MiB.
    private static let longest = 32 << 20

    private let descriptor: CInt
    private var source: EventSource?
    private var buffer: [UInt8] = []
    private let received: (Kind, [UInt8]) -> Void
    private let lost: (String) -> Void

    /// - Parameters:
    ///   - received: a message has come. Whoever takes it may drop the object that it belongs to.
    ///   - lost: the connection is gone, with the reason. The object may be dropped then.
    init(
        path: String, loop: EventLoop, received: @escaping (Kind, [UInt8]) -> Void, lost: @escaping (String) -> Void
    ) throws {
        self.received = received
        self.lost = lost
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SourceFailure("no socket: \(String(cString: strerror(errno)))") }
        // From here on, an error ends the object, which closes it.
        try connect(to: path)
        source = try loop.input(descriptor) { [unowned self] in read() }
    }

    deinit {
        source = nil
        close(descriptor)
    }

    private func connect(to path: String) throws(SourceFailure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard bytes.count < room.count else { return false }
            room.copyBytes(from: bytes)
            return true
        }
        guard isShort else { throw SourceFailure("the path \(path) is too long for a socket") }
        // A compositor that takes no connections must not be waited for.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            throw SourceFailure("the socket \(path) cannot be reached: \(String(cString: strerror(errno)))")
        }
    }

    // MARK: Messages

    /// - Returns: whether it could be sent.
    @discardableResult
    func send(_ kind: Kind, _ payload: String = "") -> Bool {
        var bytes = Self.magic
        withUnsafeBytes(of: UInt32(payload.utf8.count)) { bytes += $0 }
        withUnsafeBytes(of: kind.rawValue) { bytes += $0 }
        bytes += payload.utf8
        // A few bytes always fit, unless the other side does not read any more.
        return bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            == bytes.count
    }

    private func read() {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                buffer += chunk[..<count]
                guard handle() else { return end("the compositor sends what is not a message") }
                continue
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            return end("the compositor has ended the connection")
        }
    }

    private func end(_ reason: String) {
        source = nil
        lost(reason)
    }

    /// Handles all messages that are complete.
    private func handle() -> Bool {
        var start = 0
        while buffer.count - start >= Self.headerBytes {
            guard buffer[start..<start + Self.magic.count].elementsEqual(Self.magic) else { return false }
            let length = Int(number(at: start + 6))
            guard length <= Self.longest else { return false }
            let end = start + Self.headerBytes + length
            guard buffer.count >= end else { break }
            if let kind = Kind(rawValue: number(at: start + 10)) {
                received(kind, Array(buffer[(start + Self.headerBytes)..<end]))
            }
            start = end
        }
        buffer.removeFirst(start)
        // A long message is not kept for ever.
        if buffer.isEmpty, start > 1 << 20 { buffer = [] }
        return true
    }

    private func number(at place: Int) -> UInt32 {
        buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) }
    }
}

/// The windows in a tree of sway or i3, as `GET_TREE` of sway-ipc(7) answers it.
enum SwayTree {
    /// Nobody nests containers so deep.
    private static let deepest = 100

    static func windows(in tree: JSON) -> [Window] {
        var windows: [Window] = []
        collect(tree, isVisible: true, isCovered: false, depth: 0, into: &windows)
        return windows
    }

    /// - Parameters:
    ///   - isVisible: whether the container can be seen, as far as those around it say.
    ///   - isCovered: whether only what is full-screen can be seen.
    private static func collect(
        _ node: JSON, isVisible: Bool, isCovered: Bool, depth: Int, into windows: inout [Window]
    ) {
        let isFullScreen = (node["fullscreen_mode"]?.integer(as: Int.self) ?? 0) > 0
        let isCovered = isCovered && !isFullScreen
        if let window = window(node, isVisible: isVisible && !isCovered) { windows.append(window) }
        // i3 keeps bars in it.
        guard depth < deepest, node["type"]?.string != "dockarea" else { return }
        // The scratchpad is on a display that nobody has.
        var isVisible = isVisible
        if isOutput(node), node["name"]?.string == "__i3" { isVisible = false }
        let hides = isWorkspace(node) ? hasFullScreen(node, depth: depth) : isCovered
        let children = node["nodes"]?.elements ?? []
        let front: Int? = node["focus"]?.elements?.first?.integer()
        let isStack = node["layout"]?.string == "tabbed" || node["layout"]?.string == "stacked"
        for child in children {
            // Of several workspaces on a display, and of the tabs of a container, one is in front.
            let isInFront = !(isStack || isWorkspace(child)) || front == nil || number(child) == front
            collect(child, isVisible: isVisible && isInFront, isCovered: hides, depth: depth + 1, into: &windows)
        }
        for child in node["floating_nodes"]?.elements ?? [] {
            collect(child, isVisible: isVisible, isCovered: hides, depth: depth + 1, into: &windows)
        }
    }

    private static func number(_ node: JSON) -> Int? { node["id"]?.integer() }

    private static func isOutput(_ node: JSON) -> Bool { node["type"]?.string == "output" }

    private static func isWorkspace(_ node: JSON) -> Bool { node["type"]?.string == "workspace" }

    private static func hasFullScreen(_ node: JSON, depth: Int) -> Bool {
        guard depth < deepest else { return false }
        return ["nodes", "floating_nodes"].contains { list in
            (node[list]?.elements ?? []).contains { child in
                (child["fullscreen_mode"]?.integer(as: Int.self) ?? 0) > 0 || hasFullScreen(child, depth: depth + 1)
            }
        }
    }

    /// The window of a container; `nil` if it has none. sway says by itself whether it can be seen.
    static func window(_ node: JSON, isVisible: Bool) -> Window? {
        guard let id: UInt64 = node["id"]?.integer(), !isWorkspace(node) else { return nil }
        let app = node["app_id"]?.string
        let properties = node["window_properties"]
        let number: UInt64? = node["window"]?.integer()
        guard app != nil || number != nil else { return nil }
        return Window(
            id: id, number: number, app: app ?? properties?["class"]?.string ?? "",
            instance: app == nil ? properties?["instance"]?.string ?? "" : "",
            title: node["name"]?.string ?? "", isFocused: node["focused"]?.boolean ?? false,
            isVisible: node["visible"]?.boolean ?? isVisible)
    }
}

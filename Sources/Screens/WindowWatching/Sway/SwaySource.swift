import NotifyJSON
import NotifyText
import Systemd
import WindowRules

/// The windows of sway or i3, over their socket; sway-ipc(7).
///
/// What an event tells of a window counts at once. Which windows can be seen only the whole tree says: it is asked for
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
    private var isSubscribed = false
    /// Whether the answer to a question for the tree has not come yet.
    private var awaitsTree = false
    /// Whether something has changed since the question.
    private var wantsTree = false
    private var nextTree: Int64 = 0

    init(path: String, loop: EventLoop, report: @escaping (SourceReport) -> Void) throws(SourceFailure) {
        self.report = report
        socket = try SwaySocket(
            path: path, loop: loop, received: { [weak self] in self?.receive($0, $1) },
            lost: { report(.ended($0)) })
        do throws(SystemdError) {
            timer = try loop.timer(.monotonic) { [unowned self] in askForTree() }
        } catch {
            throw SourceFailure("\(error)")
        }
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
            if content["success"]?.boolean != true { report(.ended("the compositor does not tell of its windows")) }
        case .tree:
            awaitsTree = false
            windows = SwayTree.windows(in: content)
            report(.windows(windows))
            if wantsTree { askForTree() }
        case .workspaceEvent:
            if !["urgent", "rename", "reload"].contains(content["change"]?.string ?? "") { askForTree() }
        case .windowEvent: take(content)
        case .bindingEvent, .shutdownEvent: break
        }
    }

    // MARK: Events

    private func take(_ event: JSON) {
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

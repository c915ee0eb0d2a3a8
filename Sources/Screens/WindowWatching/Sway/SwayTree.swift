import NotifyJSON
import WindowRules

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

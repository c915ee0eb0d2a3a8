import NotifyText
import WindowRules

/// Windows of which a compositor tells one by one.
struct ReportedWindows {
    /// More are left out: a compositor that tells of so many is broken.
    private static let most = 4096

    private var numbers: [ByteString: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var known: [UInt64: Window] = [:]
    private var order: [UInt64] = []

    /// In the order in which they were first told of.
    var windows: [Window] { order.compactMap { known[$0] } }

    /// A window is there, or has changed. If it is focused, no other one is.
    mutating func set(
        _ id: String, app: String, instance: String, title: String, isFocused: Bool, isVisible: Bool
    ) {
        let number: UInt64
        if let old = numbers[id.bytes] {
            number = old
        } else {
            guard order.count < Self.most else { return }
            lastNumber += 1
            number = lastNumber
            numbers[id.bytes] = number
            order.append(number)
        }
        if isFocused { for other in order where known[other]?.isFocused == true { known[other]?.isFocused = false } }
        known[number] = Window(
            id: number, app: app, instance: instance, title: title, isFocused: isFocused, isVisible: isVisible)
    }

    mutating func remove(_ id: String) {
        guard let number = numbers.removeValue(forKey: id.bytes) else { return }
        known[number] = nil
        order.removeAll { $0 == number }
    }
}

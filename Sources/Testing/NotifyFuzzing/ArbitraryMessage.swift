import Systemd

/// A type of D-Bus as a publisher may choose it, structures included.
private indirect enum Shape {
    case basic(Unicode.Scalar)
    case variant
    case array(Shape)
    case dictionary(Unicode.Scalar, Shape)
    case structure([Shape])

    private static let basicTypes: [Unicode.Scalar] = ["s", "y", "b", "n", "q", "i", "u", "x", "t", "d", "o", "g"]

    init(_ choices: inout Choices, depth: Int) {
        switch depth < 6 ? choices.below(20) : choices.below(13) {
        case 12: self = .variant
        case 13...15: self = .array(Shape(&choices, depth: depth + 1))
        case 16...18:
            let key = choices.pick(Self.basicTypes)
            self = .dictionary(key, Shape(&choices, depth: depth + 1))
        case 19: self = .structure((0...choices.below(2)).map { _ in Shape(&choices, depth: depth + 1) })
        case let index: self = .basic(Self.basicTypes[index])
        }
    }

    var signature: String {
        switch self {
        case .basic(let type): String(type)
        case .variant: "v"
        case .array(let element): "a" + element.signature
        case .dictionary(let key, let value): "a{" + String(key) + value.signature + "}"
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        }
    }
}

extension BusMessage {
    /// Appends an `a{sv}` of whatever the choices say.
    func appendArbitraryDictionary(_ choices: inout Choices, names: [String]) {
        appendContainer("a", "{sv}") { entries in
            // Now and then more than are allowed.
            let count = choices.below(8) == 7 ? choices.below(80) : choices.below(6)
            for _ in 0..<count {
                let name = choices.flag() ? choices.pick(names) : choices.text(upTo: 100)
                let shape = Shape(&choices, depth: 0)
                entries.appendEntry(name, shape.signature) { $0.append(shape, &choices, depth: 0) }
            }
        }
    }

    private func append(_ shape: Shape, _ choices: inout Choices, depth: Int) {
        switch shape {
        case .basic(let type): append(type, &choices)
        case .variant:
            let inner = Shape(&choices, depth: depth + 1)
            appendContainer("v", inner.signature) { $0.append(inner, &choices, depth: depth + 1) }
        case .array(let element):
            appendContainer("a", element.signature) { message in
                for _ in 0..<choices.below(4) { message.append(element, &choices, depth: depth + 1) }
            }
        case .dictionary(let key, let value):
            appendContainer("a", "{" + String(key) + value.signature + "}") { message in
                for _ in 0..<choices.below(4) {
                    message.appendContainer("e", String(key) + value.signature) { entry in
                        entry.append(key, &choices)
                        entry.append(value, &choices, depth: depth + 1)
                    }
                }
            }
        case .structure(let members):
            appendContainer("r", members.map(\.signature).joined()) { message in
                for member in members { message.append(member, &choices, depth: depth + 1) }
            }
        }
    }

    private func append(_ type: Unicode.Scalar, _ choices: inout Choices) {
        switch type {
        case "y": append(choices.byte(), as: type)
        case "b": append(choices.flag())
        case "n", "q": append(choices.number(UInt16.self), as: type)
        case "i", "u": append(choices.number(UInt32.self), as: type)
        case "x", "t": append(choices.number(UInt64.self), as: type)
        case "d": append(Double(bitPattern: choices.number()), as: type)
        case "o": append(choices.pick(["/", "/a", "/a/b_2"]), as: type)
        case "g": append(choices.pick(["", "s", "a{sv}", "(ii)"]), as: type)
        default: append(choices.text())
        }
    }
}

internal import NotifyText

extension Value: Hashable {
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.byte(let left), .byte(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        case (.int16(let left), .int16(let right)): left == right
        case (.uint16(let left), .uint16(let right)): left == right
        case (.int32(let left), .int32(let right)): left == right
        case (.uint32(let left), .uint32(let right)): left == right
        case (.int64(let left), .int64(let right)): left == right
        case (.uint64(let left), .uint64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.string(let left), .string(let right)), (.objectPath(let left), .objectPath(let right)),
            (.signature(let left), .signature(let right)):
            left.bytes == right.bytes
        case (.array(let left, let type), .array(let right, let otherType)): type == otherType && left == right
        case (.dictionary(let left, let keys, let values), .dictionary(let right, let otherKeys, let otherValues)):
            keys == otherKeys && values == otherValues && left == right
        case (.structure(let left), .structure(let right)): left == right
        case (.variant(let left), .variant(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .byte(let number): hasher.combine(number)
        case .boolean(let flag): hasher.combine(flag)
        case .int16(let number): hasher.combine(number)
        case .uint16(let number): hasher.combine(number)
        case .int32(let number): hasher.combine(number)
        case .uint32(let number): hasher.combine(number)
        case .int64(let number): hasher.combine(number)
        case .uint64(let number): hasher.combine(number)
        case .double(let number): hasher.combine(number)
        case .string(let text), .objectPath(let text), .signature(let text): hasher.combine(text.bytes)
        case .array(let elements, _), .structure(let elements): hasher.combine(elements)
        case .dictionary(let entries, _, _): hasher.combine(entries)
        case .variant(let value): hasher.combine(value)
        }
    }
}

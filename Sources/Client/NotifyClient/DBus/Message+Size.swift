extension Message {
    /// About how many bytes the arguments take: those of their texts and arrays, and a few for each value.
    package var argumentBytes: Int { arguments.reduce(0) { $0 + $1.byteCount } }
}

extension Value {
    fileprivate var byteCount: Int {
        let overhead = 16
        switch self {
        case .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double: return overhead
        case .string(let text), .objectPath(let text), .signature(let text): return overhead + text.utf8.count
        case .bytes(let bytes): return overhead + bytes.count
        case .array(let values, _), .structure(let values): return values.reduce(overhead) { $0 + $1.byteCount }
        case .dictionary(let entries, _, _):
            return entries.reduce(overhead) { $0 + $1.key.byteCount + $1.value.byteCount }
        case .variant(let value): return overhead + value.byteCount
        }
    }
}

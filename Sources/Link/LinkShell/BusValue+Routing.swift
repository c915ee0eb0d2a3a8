import NotifyClient
import NotifyText
import Routing

/// Values on their way from notifyd to other devices and back. Structures stay behind: notifyd has none in fields.
extension Routing.Value {
    init?(_ value: BusValue) {
        switch value {
        case .byte(let number): self = .byte(number)
        case .boolean(let flag): self = .boolean(flag)
        case .int16(let number): self = .int16(number)
        case .uint16(let number): self = .uint16(number)
        case .int32(let number): self = .int32(number)
        case .uint32(let number): self = .uint32(number)
        case .int64(let number): self = .int64(number)
        case .uint64(let number): self = .uint64(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .objectPath(let text): self = .objectPath(text)
        case .signature(let text): self = .signature(text)
        case .array(let elements, let type):
            let own = elements.compactMap(Routing.Value.init)
            guard own.count == elements.count else { return nil }
            self = .array(of: type.signature, own)
        case .bytes(let bytes): self = .array(of: ValueType.byte.signature, bytes.map(Routing.Value.byte))
        case .dictionary(let entries, let keys, let values):
            let pairs = entries.compactMap { entry -> Routing.Value.Pair? in
                guard let key = Routing.Value(entry.key), let value = Routing.Value(entry.value) else { return nil }
                return Routing.Value.Pair(key: key, value: value)
            }
            guard pairs.count == entries.count else { return nil }
            // The same entries have the same order each time they are said.
            let sorted = pairs.sorted { ($0.key.text ?? "").bytes < ($1.key.text ?? "").bytes }
            self = .dictionary(key: keys.signature, value: values.signature, sorted)
        case .variant(let inner):
            guard let own = Routing.Value(inner) else { return nil }
            self = .variant(own)
        case .structure: return nil
        }
    }
}

extension BusValue {
    /// `nil` if a type in it is none of D-Bus.
    init?(_ value: Routing.Value) {
        switch value {
        case .byte(let number): self = .byte(number)
        case .boolean(let flag): self = .boolean(flag)
        case .int16(let number): self = .int16(number)
        case .uint16(let number): self = .uint16(number)
        case .int32(let number): self = .int32(number)
        case .uint32(let number): self = .uint32(number)
        case .int64(let number): self = .int64(number)
        case .uint64(let number): self = .uint64(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .objectPath(let text): self = .objectPath(text)
        case .signature(let text): self = .signature(text)
        case .array(let type, let elements):
            guard let type = ValueType(signature: type) else { return nil }
            let bus = elements.compactMap(BusValue.init)
            guard bus.count == elements.count else { return nil }
            self = .array(bus, of: type)
        case .dictionary(let key, let value, let pairs):
            guard let keys = ValueType(signature: key), let values = ValueType(signature: value) else { return nil }
            var entries: [BusValue: BusValue] = [:]
            for pair in pairs {
                guard let key = BusValue(pair.key), let value = BusValue(pair.value) else { return nil }
                entries[key] = value
            }
            self = .dictionary(entries, keys: keys, values: values)
        case .variant(let inner):
            guard let bus = BusValue(inner) else { return nil }
            self = .variant(bus)
        }
    }
}

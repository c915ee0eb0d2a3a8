import Linking
import NotifyBridge
import NotifyText

/// Records of a line as the store keeps them: JSON under `LINE/line`, `LINE/device/DEVICE` and `LINE/value/DIGEST`.
struct RecordCoding {
    /// The line's name and a slash.
    let prefix: String

    init(line: String) {
        prefix = line + "/"
    }

    func change(_ record: Record) -> RecordChange {
        switch record {
        case .line(let line): .put(prefix + "line", line.json.bytes)
        case .device(let device, let record): .put("\(prefix)device/\(device)", record.json.bytes)
        case .deviceDropped(let device): .remove("\(prefix)device/\(device)")
        case .value(let digest, let value): .put("\(prefix)value/\(digest)", value.json.bytes)
        case .valueDropped(let digest): .remove("\(prefix)value/\(digest)")
        }
    }

    /// `nil` if it is none of this line, or cannot be read.
    func record(_ key: String, _ bytes: [UInt8]) -> Record? {
        guard key.hasPrefix(prefix), let json = try? JSONParser.parse(bytes) else { return nil }
        let parts = key.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("line", 1): return LineRecord(json).map { .line($0) }
        case ("device", 2):
            guard let device = Device(parts[1]), let record = DeviceRecord(json) else { return nil }
            return .device(device, record)
        case ("value", 2):
            guard let digest = Digest(parts[1]), let value = ValueRecord(json) else { return nil }
            return .value(digest, value)
        default: return nil
        }
    }
}

extension JSON {
    fileprivate func number(_ name: String) -> UInt64? { self[name]?.integer() }
    fileprivate func time(_ name: String) -> Int64? { self[name]?.integer() }
}

extension LineRecord {
    fileprivate var json: JSON {
        .object([
            ("first", .integer(first)), ("scanned", .integer(cursor.scanned)),
            ("said", .integer(cursor.said)), ("seen", .integer(seen)),
            ("connection", .integer(connection)), ("counter", .integer(counter)),
            ("joined", .boolean(hasJoined)), ("version", .integer(version)),
        ])
    }

    fileprivate init?(_ json: JSON) {
        guard let first = json.number("first"), let scanned = json.number("scanned"), let said = json.number("said"),
            let seen = json.number("seen"), let connection = json.number("connection"),
            let counter = json.number("counter"), let hasJoined = json["joined"]?.boolean,
            let version: Int = json["version"]?.integer()
        else { return nil }
        self.init(
            first: first, cursor: Cursor(scanned: scanned, said: said), seen: seen, connection: connection,
            counter: counter, hasJoined: hasJoined, version: version)
    }
}

extension DeviceRecord {
    fileprivate var json: JSON {
        var members: [JSON.Member] = [
            ("taken", .integer(taken)), ("missing", Self.json(missing)),
            ("unknown", Self.json(unknown)),
            ("checkpoints", .array(checkpoints.map { .array([.integer($0.own), .integer($0.theirs)]) })),
            ("name", .string(name)), ("seen", .integer(seen)), ("silent", .integer(silentSince ?? 0)),
        ]
        if let start { members.append(("start", .integer(start))) }
        if isStartProvisional { members.append(("provisional", .boolean(true))) }
        if let signer { members.append(("signer", .string(signer.rawValue))) }
        return .object(members)
    }

    fileprivate init?(_ json: JSON) {
        guard let seen = json.time("seen"), let taken = json.number("taken"), let name = json["name"]?.string,
            let missing = json["missing"].flatMap(Self.ranges), let unknown = json["unknown"].flatMap(Self.ranges),
            let checkpoints = json["checkpoints"].flatMap(Self.pairs)
        else { return nil }
        self.init(seen: seen)
        self.taken = taken
        self.name = name
        self.missing = missing
        self.unknown = unknown
        self.checkpoints = checkpoints.map { Checkpoint(own: $0.0, theirs: $0.1) }
        start = json.number("start")
        isStartProvisional = json["provisional"]?.boolean ?? false
        signer = json["signer"]?.string.map(Signer.init)
        // Records of before have no such member.
        let isSilent = start.map { $0 == taken } ?? true
        silentSince = json.time("silent").map { $0 == 0 ? nil : $0 } ?? (isSilent ? seen : nil)
    }

    private static func json(_ ranges: [RangeSet.Range]) -> JSON {
        .array(ranges.map { .array([.integer($0.after), .integer($0.through)]) })
    }

    private static func pairs(_ json: JSON) -> [(UInt64, UInt64)]? {
        guard let elements = json.elements else { return nil }
        let pairs = elements.compactMap { element -> (UInt64, UInt64)? in
            guard let numbers = element.elements, numbers.count == 2, let first: UInt64 = numbers[0].integer(),
                let second: UInt64 = numbers[1].integer()
            else { return nil }
            return (first, second)
        }
        return pairs.count == elements.count ? pairs : nil
    }

    private static func ranges(_ json: JSON) -> [RangeSet.Range]? {
        guard let pairs = pairs(json), pairs.allSatisfy({ $0.0 < $0.1 }) else { return nil }
        return pairs.map { RangeSet.Range(after: $0.0, through: $0.1) }
    }
}

extension ValueRecord {
    fileprivate var json: JSON {
        .object([
            ("number", .integer(number)), ("topic", .string(topic.description)),
            ("published", .integer(stamp.published)), ("source", .string(stamp.name.source)),
            ("event-id", .string(stamp.name.eventID)), ("expires", .integer(expires)),
            ("removal", .boolean(isRemoval)),
        ])
    }

    fileprivate init?(_ json: JSON) {
        guard let number = json.number("number"), number > 0, let text = json["topic"]?.string,
            let topic = try? Topic(text), let published = json.time("published"), let source = json["source"]?.string,
            let id = json["event-id"]?.string, let expires = json.time("expires"),
            let isRemoval = json["removal"]?.boolean
        else { return nil }
        self.init(
            number: number, topic: topic,
            stamp: ValueStamp(published: published, name: GlobalName(source: source, eventID: id)), expires: expires,
            isRemoval: isRemoval)
    }
}

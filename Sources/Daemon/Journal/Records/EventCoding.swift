import Routing

extension EventID: RecordPart {
    func write(to writer: inout RecordWriter) { writer.number(rawValue) }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) { self.init(try reader.number()) }
}

extension Origin: RecordPart {
    func write(to writer: inout RecordWriter) {
        let (source, eventID, via) = (source, eventID, via)
        writer.flags(source != nil, eventID != nil, via != nil)
        if let source { writer.text(source) }
        if let eventID { writer.text(eventID) }
        if let via { writer.text(via) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(3)
        self.init(
            source: flags[0] ? try reader.text() : nil, eventID: flags[1] ? try reader.text() : nil,
            via: flags[2] ? try reader.text() : nil)
    }
}

extension ClaimPlace: RecordPart {
    func write(to writer: inout RecordWriter) {
        let (device, via) = (device, via)
        writer.flags(device != nil, via != nil)
        if let device { writer.text(device) }
        if let via { writer.text(via) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(2)
        self.init(device: flags[0] ? try reader.text() : nil, via: flags[1] ? try reader.text() : nil)
    }
}

extension ClaimRecord: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(latency != nil, program != nil)
        writer.text(claimant)
        if let latency { writer.number(latency.microseconds) }
        writer.byte(form.byteCode)
        writer.byte(verdict.byteCode)
        if let program { writer.text(program) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(2)
        self.init(
            claimant: try reader.text(), latency: flags[0] ? .microseconds(try reader.number() as Int64) : nil,
            form: try reader.coded(), verdict: try reader.coded(), program: flags[1] ? try reader.text() : nil)
    }
}

extension StoredEvent: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(retained, urgency != nil, collapse != nil, !appearance.isEmpty, decision != nil)
        writer.value(id)
        writer.text(topic.description)
        writer.text(title)
        writer.text(body)
        writer.fields(fields)
        writer.number(published, from: id)
        writer.text(sender)
        writer.value(origin)
        if let urgency { writer.byte(urgency.rawValue) }
        if let collapse { writer.text(collapse) }
        if !appearance.isEmpty { writer.fields(appearance) }
        writer.text(route)
        writer.text(key)
        writer.number(window)
        writer.number(accepted, from: id)
        writer.number(expires.wall, from: id)
        writer.number(expires.uptime)
        writer.text(expires.boot)
        decision?.write(to: &writer, of: id)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(5)
        let id: EventID = try reader.value()
        self.init(
            id: id, topic: try reader.topic(), title: try reader.text(), body: try reader.text(),
            fields: try reader.fields(), published: try reader.number(from: id), sender: try reader.text(),
            origin: try reader.value(), urgency: flags[1] ? try reader.urgency() : nil,
            collapse: flags[2] ? try reader.text() : nil, retained: flags[0],
            appearance: flags[3] ? try reader.fields() : [], route: try reader.text(), key: try reader.text(),
            window: try reader.number(), accepted: try reader.number(from: id),
            expires: Expiry(
                wall: try reader.number(from: id), uptime: try reader.number(), boot: try reader.text()),
            decision: flags[4] ? try StoredDecision(from: &reader, of: id) : nil)
        // Each value has one coding.
        guard flags[3] != appearance.isEmpty else { throw FieldCoding.Malformed() }
    }
}

extension RecordReader {
    fileprivate mutating func urgency() throws(Malformed) -> Urgency {
        guard let urgency = Urgency(rawValue: try byte()) else { throw Malformed() }
        return urgency
    }
}

extension StoredDecision {
    /// The bits of what is present. Bits are never changed or given to something else.
    private enum Part {
        static let opened: UInt64 = 1 << 0
        static let deadline: UInt64 = 1 << 1
        static let claimant: UInt64 = 1 << 2
        static let latency: UInt64 = 1 << 3
        static let form: UInt64 = 1 << 4
        static let program: UInt64 = 1 << 5
        static let cause: UInt64 = 1 << 6
        static let banner: UInt64 = 1 << 7
        static let server: UInt64 = 1 << 8
        static let shownWith: UInt64 = 1 << 9
        static let count: UInt64 = 1 << 10
        static let lateness: UInt64 = 1 << 11
        static let action: UInt64 = 1 << 12
        static let device: UInt64 = 1 << 13
        static let via: UInt64 = 1 << 14
        static let isReplayed: UInt64 = 1 << 15
        static let isOfEarlierBoot: UInt64 = 1 << 16
        static let isRead: UInt64 = 1 << 17
        static let all: UInt64 = 1 << 18 - 1
    }

    private var parts: UInt64 {
        var parts: UInt64 = 0
        if opened != nil { parts |= Part.opened }
        if deadline != nil { parts |= Part.deadline }
        if claimant != nil { parts |= Part.claimant }
        if latency != nil { parts |= Part.latency }
        if form != nil { parts |= Part.form }
        if program != nil { parts |= Part.program }
        if cause != nil { parts |= Part.cause }
        if banner != nil { parts |= Part.banner }
        if server != nil { parts |= Part.server }
        if shownWith != nil { parts |= Part.shownWith }
        if count != nil { parts |= Part.count }
        if lateness != nil { parts |= Part.lateness }
        if action != nil { parts |= Part.action }
        if place.device != nil { parts |= Part.device }
        if place.via != nil { parts |= Part.via }
        if isReplayed { parts |= Part.isReplayed }
        if isOfEarlierBoot { parts |= Part.isOfEarlierBoot }
        if isRead { parts |= Part.isRead }
        return parts
    }

    /// - Parameter id: the event that is decided.
    func write(to writer: inout RecordWriter, of id: EventID) {
        writer.byte(outcome.byteCode)
        writer.number(parts)
        writer.number(resolved, from: id)
        if let opened { writer.number(opened, from: id) }
        if let deadline { writer.number(deadline, from: id) }
        if let claimant { writer.text(claimant) }
        if let latency { writer.number(latency) }
        if let form { writer.byte(form.byteCode) }
        if let program { writer.text(program) }
        if let cause { writer.text(cause) }
        if let banner { writer.number(UInt64(banner)) }
        if let server { writer.text(server) }
        if let shownWith { writer.value(shownWith) }
        if let count { writer.number(Int64(count)) }
        if let lateness { writer.number(lateness) }
        if let action { writer.text(action) }
        if let device = place.device { writer.text(device) }
        if let via = place.via { writer.text(via) }
    }

    init(from reader: inout RecordReader, of id: EventID) throws(FieldCoding.Malformed) {
        let outcome: Outcome = try reader.coded()
        let parts: UInt64 = try reader.number()
        guard parts <= Part.all else { throw FieldCoding.Malformed() }
        func has(_ part: UInt64) -> Bool { parts & part != 0 }
        self.init(outcome: outcome, resolved: try reader.number(from: id))
        if has(Part.opened) { opened = try reader.number(from: id) }
        if has(Part.deadline) { deadline = try reader.number(from: id) }
        if has(Part.claimant) { claimant = try reader.text() }
        if has(Part.latency) { latency = try reader.number() as Int64 }
        if has(Part.form) { form = try reader.coded() as ClaimForm }
        if has(Part.program) { program = try reader.text() }
        if has(Part.cause) { cause = try reader.text() }
        if has(Part.banner) { banner = try reader.bannerNumber() }
        if has(Part.server) { server = try reader.text() }
        if has(Part.shownWith) { shownWith = try reader.value() as EventID }
        if has(Part.count) { count = Int(try reader.number() as Int64) }
        if has(Part.lateness) { lateness = try reader.number() as Int64 }
        if has(Part.action) { action = try reader.text() }
        place = ClaimPlace(
            device: has(Part.device) ? try reader.text() : nil, via: has(Part.via) ? try reader.text() : nil)
        isReplayed = has(Part.isReplayed)
        isOfEarlierBoot = has(Part.isOfEarlierBoot)
        isRead = has(Part.isRead)
    }
}

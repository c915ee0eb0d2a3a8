import Routing

extension StoredQuiet.End: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.number(moment.wall)
        writer.number(moment.uptime)
        writer.text(moment.boot)
        writer.number(left)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let moment = Expiry(wall: try reader.number(), uptime: try reader.number(), boot: try reader.text())
        self.init(moment: moment, left: try reader.number())
    }
}

extension StoredQuiet: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(end != nil, began != nil)
        writer.text(topic.description)
        writer.byte(cause.byteCode)
        if let end { writer.value(end) }
        if let began { writer.number(began) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(2)
        self.init(
            topic: try reader.topicPrefix(), cause: try reader.coded(), end: flags[0] ? try reader.value() : nil,
            began: flags[1] ? try reader.number() : nil)
    }
}

extension StoredSnooze: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.value(event)
        writer.value(end)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self.init(event: try reader.value(), end: try reader.value())
    }
}

extension OwedDigest: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.text(period.topic.description)
        writer.number(period.began)
        writer.value(name)
        writer.value(first)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let period = ActiveSchedule.Period(try reader.topicPrefix(), began: try reader.number())
        self.init(period, name: try reader.value(), first: try reader.value())
    }
}

extension StoredBanner: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(isSummary)
        writer.number(UInt64(number))
        writer.text(server)
        writer.value(first)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(1)
        self.init(
            number: try reader.bannerNumber(), server: try reader.text(), first: try reader.value(),
            isSummary: flags[0])
    }
}

extension StoredAwaited: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.value(origin)
        writer.byte(kind.byteCode)
        writer.text(claimant)
        writer.value(place)
        writer.fields(identity)
        writer.value(end)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        origin = try reader.value()
        kind = try reader.coded()
        claimant = try reader.text()
        place = try reader.value()
        identity = try reader.fields()
        end = try reader.value()
    }
}

extension ValueVersion: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.value(id)
        writer.number(published, from: id)
        writer.value(origin)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let id: EventID = try reader.value()
        self.init(published: try reader.number(from: id), id: id, origin: try reader.value())
    }
}

extension Tombstone: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.text(topic.description)
        writer.value(version)
        writer.value(removal)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self.init(topic: try reader.topic(), version: try reader.value(), removal: try reader.value())
    }
}

extension StoredRemoval: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(published != nil)
        writer.value(id)
        writer.text(topic.description)
        writer.value(origin)
        if let published { writer.number(published, from: id) }
        writer.number(removed, from: id)
        writer.byte(cause.byteCode)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(1)
        let id: EventID = try reader.value()
        self.init(
            id: id, topic: try reader.topic(), origin: try reader.value(),
            published: flags[0] ? try reader.number(from: id) : nil, removed: try reader.number(from: id),
            cause: try reader.coded())
    }
}

extension ChangeRow: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(topic != nil, claimant != nil, published != nil, device != nil)
        writer.number(number)
        writer.byte(kind.byteCode)
        writer.value(event)
        if let topic { writer.text(topic.description) }
        if let claimant { writer.text(claimant) }
        writer.number(moment)
        if let published { writer.number(published) }
        writer.value(origin)
        if let device { writer.text(device) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(4)
        self.init(
            number: try reader.number(), kind: try reader.coded(), event: try reader.value(),
            topic: flags[0] ? try reader.topic() : nil, claimant: flags[1] ? try reader.text() : nil,
            moment: try reader.number(), published: flags[2] ? try reader.number() : nil,
            origin: try reader.value(), device: flags[3] ? try reader.text() : nil)
    }
}

extension RetentionClock.State: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.flags(lead != nil, isAbsenceCounted)
        writer.number(age)
        writer.number(uptime)
        writer.text(boot)
        if let lead { writer.number(lead) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let flags = try reader.flags(2)
        self.init(
            age: try reader.number(), uptime: try reader.number(), boot: try reader.text(),
            lead: flags[0] ? try reader.number() : nil, isAbsenceCounted: flags[1])
    }
}

extension RetentionMarks.Mark: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.number(id)
        writer.number(age)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self.init(id: try reader.number(), age: try reader.number())
    }
}

import Routing

// What records consist of. Whoever changes one of these gives `Record.version` a new number.

extension EventID: RecordPart {
    func write(to writer: inout RecordWriter) { rawValue.write(to: &writer) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) { self.init(try reader.value()) }
}

extension Topic: RecordPart {
    func write(to writer: inout RecordWriter) { description.write(to: &writer) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let text: String = try reader.value()
        do { self = try Topic(text) } catch { throw FieldCoding.Malformed() }
    }
}

extension TopicPrefix: RecordPart {
    func write(to writer: inout RecordWriter) { description.write(to: &writer) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let text: String = try reader.value()
        do { self = try TopicPrefix(text) } catch { throw FieldCoding.Malformed() }
    }
}

extension Origin: RecordPart {
    func write(to writer: inout RecordWriter) {
        var parts = writer.presence(of: 3)
        writer.value(source, of: &parts)
        writer.value(eventID, of: &parts)
        writer.value(via, of: &parts)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        var parts = try reader.presence(of: 3)
        self.init(
            source: try reader.value(of: &parts), eventID: try reader.value(of: &parts),
            via: try reader.value(of: &parts))
    }
}

extension ClaimPlace: RecordPart {
    func write(to writer: inout RecordWriter) {
        var parts = writer.presence(of: 2)
        writer.value(device, of: &parts)
        writer.value(via, of: &parts)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        var parts = try reader.presence(of: 2)
        self.init(device: try reader.value(of: &parts), via: try reader.value(of: &parts))
    }
}

extension ClaimRecord: RecordPart {
    func write(to writer: inout RecordWriter) {
        writer.values(claimant, latency?.microseconds, form, verdict, program)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make { (claimant, latency: Int64?, form, verdict, program) in
            ClaimRecord(
                claimant: claimant, latency: latency.map { .microseconds($0) }, form: form, verdict: verdict,
                program: program)
        }
    }
}

extension Expiry: RecordPart {
    func write(to writer: inout RecordWriter) {
        wall.write(to: &writer)
        uptime.write(to: &writer)
        boot.write(to: &writer)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(Expiry.init(wall:uptime:boot:))
    }
}

extension StoredEvent: RecordPart {
    // One value after the other: this runs for each event, and `values` copies what it is given.
    func write(to writer: inout RecordWriter) {
        id.write(to: &writer)
        topic.write(to: &writer)
        title.write(to: &writer)
        body.write(to: &writer)
        fields.write(to: &writer)
        id.distance(to: published).write(to: &writer)
        sender.write(to: &writer)
        origin.write(to: &writer)
        urgency.write(to: &writer)
        collapse.write(to: &writer)
        retained.write(to: &writer)
        appearance.write(to: &writer)
        route.write(to: &writer)
        key.write(to: &writer)
        window.write(to: &writer)
        id.distance(to: accepted).write(to: &writer)
        expires.write(to: &writer)
        (decision != nil).write(to: &writer)
        decision?.write(to: &writer, of: id)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let id: EventID = try reader.value()
        self.init(
            id: id, topic: try reader.value(), title: try reader.value(), body: try reader.value(),
            fields: try reader.value(), published: try reader.moment(of: id), sender: try reader.value(),
            origin: try reader.value(), urgency: try reader.value(), collapse: try reader.value(),
            retained: try reader.value(), appearance: try reader.value(), route: try reader.value(),
            key: try reader.value(), window: try reader.value(), accepted: try reader.moment(of: id),
            expires: try reader.value(),
            decision: try reader.value() as Bool ? try StoredDecision(from: &reader, of: id) : nil)
    }
}

extension StoredDecision {
    /// - Parameter id: the event that is decided.
    func write(to writer: inout RecordWriter, of id: EventID) {
        outcome.write(to: &writer)
        id.distance(to: resolved).write(to: &writer)
        isReplayed.write(to: &writer)
        isOfEarlierBoot.write(to: &writer)
        isRead.write(to: &writer)
        wasMuted.write(to: &writer)
        var parts = writer.presence(of: 19)
        writer.value(opened.map(id.distance), of: &parts)
        writer.value(deadline.map(id.distance), of: &parts)
        writer.value(claimant, of: &parts)
        writer.value(latency, of: &parts)
        writer.value(form, of: &parts)
        writer.value(verdict, of: &parts)
        writer.value(program, of: &parts)
        writer.value(cause, of: &parts)
        writer.value(brokenThrough, of: &parts)
        writer.value(delay, of: &parts)
        writer.value(banner, of: &parts)
        writer.value(server, of: &parts)
        writer.value(shownWith, of: &parts)
        writer.value(successor, of: &parts)
        writer.value(count.map(Int64.init), of: &parts)
        writer.value(lateness, of: &parts)
        writer.value(action, of: &parts)
        writer.value(place.device, of: &parts)
        writer.value(place.via, of: &parts)
    }

    init(from reader: inout RecordReader, of id: EventID) throws(FieldCoding.Malformed) {
        self.init(outcome: try reader.value(), resolved: try reader.moment(of: id))
        isReplayed = try reader.value()
        isOfEarlierBoot = try reader.value()
        isRead = try reader.value()
        wasMuted = try reader.value()
        var parts = try reader.presence(of: 19)
        opened = (try reader.value(of: &parts)).map(id.moment)
        deadline = (try reader.value(of: &parts)).map(id.moment)
        claimant = try reader.value(of: &parts)
        latency = try reader.value(of: &parts)
        form = try reader.value(of: &parts)
        verdict = try reader.value(of: &parts)
        program = try reader.value(of: &parts)
        cause = try reader.value(of: &parts)
        brokenThrough = try reader.value(of: &parts)
        delay = try reader.value(of: &parts)
        banner = try reader.value(of: &parts)
        server = try reader.value(of: &parts)
        shownWith = try reader.value(of: &parts)
        successor = try reader.value(of: &parts)
        count = (try reader.value(of: &parts) as Int64?).map(Int.init)
        lateness = try reader.value(of: &parts)
        action = try reader.value(of: &parts)
        place = ClaimPlace(device: try reader.value(of: &parts), via: try reader.value(of: &parts))
    }
}

extension EventState: RecordPart {
    func write(to writer: inout RecordWriter) {
        event.write(to: &writer)
        number.map(event.id.distance).write(to: &writer)
        decided.map(event.id.distance).write(to: &writer)
        claims.write(to: &writer)
        isMarkedRead.write(to: &writer)
        isValue.write(to: &writer)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make { (event: StoredEvent, number: Int64?, decided: Int64?, claims, isMarkedRead, isValue) in
            EventState(
                event: event, number: number.map(event.id.moment), decided: decided.map(event.id.moment),
                claims: claims, isMarkedRead: isMarkedRead, isValue: isValue)
        }
    }
}

extension StoredQuiet.End: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(moment, left) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredQuiet.End.init(moment:left:))
    }
}

extension StoredQuiet: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(topic, cause, end, began) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredQuiet.init(topic:cause:end:began:))
    }
}

extension StoredSnooze: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(event, end) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredSnooze.init(event:end:))
    }
}

extension OwedDigest: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(period.topic, period.began, name, first) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make { topic, began, name, first in
            OwedDigest(ActiveSchedule.Period(topic, began: began), name: name, first: first)
        }
    }
}

extension StoredBanner: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(number, server, first, isSummary) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredBanner.init(number:server:first:isSummary:))
    }
}

extension StoredAwaited: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(origin, kind, claimant, place, identity, end) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredAwaited.init(origin:kind:claimant:place:identity:end:))
    }
}

extension ValueVersion: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(published, id, origin) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(ValueVersion.init(published:id:origin:))
    }
}

extension Tombstone: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(topic, version, removal) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(Tombstone.init(topic:version:removal:))
    }
}

extension StoredRemoval: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(id, topic, origin, published, removed, cause) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(StoredRemoval.init(id:topic:origin:published:removed:cause:))
    }
}

extension NamedPush: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(origin, id) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(NamedPush.init(origin:id:))
    }
}

extension RetentionClock.State: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(age, uptime, boot, lead, isAbsenceCounted) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(RetentionClock.State.init(age:uptime:boot:lead:isAbsenceCounted:))
    }
}

extension RetentionMarks.Mark: RecordPart {
    func write(to writer: inout RecordWriter) { writer.values(id, age) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.make(RetentionMarks.Mark.init(id:age:))
    }
}

internal import CSystemd
import Glibc

/// A D-Bus interface of this process: methods, properties and signals with the names of their arguments.
///
/// From this table sd-bus also implements Introspectable, Properties and Peer. sd-bus refers to the table and its
/// strings, so they live as long as this object. sd_bus_add_object_vtable(3).
public final class BusInterface {
    public typealias Argument = (name: String, type: String)
    /// Reads a call. It replies through the connection, now or later, or throws the error to reply with.
    public typealias Method = (borrowing BusMessage) throws(BusFailure) -> Void

    let name: String
    private var entries: [sd_bus_vtable] = []
    private var handlers: [Handler] = []
    private var slot: OpaquePointer?
    private var contexts: UnsafeMutablePointer<Unmanaged<Handler>>?
    private var table: UnsafeMutablePointer<sd_bus_vtable>?
    private var texts: [UnsafePointer<CChar>] = []

    public init(_ name: String) {
        self.name = name
        var start = sd_bus_vtable()
        start.type = UInt8(_SD_BUS_VTABLE_START)
        start.x.start.element_size = MemoryLayout<sd_bus_vtable>.stride
        start.x.start.features = UInt64(_SD_BUS_VTABLE_PARAM_NAMES)
        start.x.start.vtable_format_reference = notifyd_vtable_format()
        entries.append(start)
    }

    deinit {
        sd_bus_slot_unref(slot)
        contexts?.deallocate()
        table?.deallocate()
        for text in texts { text.deallocate() }
    }

    public func method(_ name: String, in input: [Argument] = [], out output: [Argument] = [], _ body: @escaping Method)
    {
        var entry = sd_bus_vtable()
        entry.type = UInt8(_SD_BUS_VTABLE_METHOD)
        entry.flags = UInt64(SD_BUS_VTABLE_UNPRIVILEGED)
        entry.x.method.member = kept(name)
        entry.x.method.signature = kept(input.map(\.type).joined())
        entry.x.method.result = kept(output.map(\.type).joined())
        entry.x.method.names = kept(input + output)
        entry.x.method.handler = onCall
        entry.x.method.offset = register(.method(body))
        entries.append(entry)
    }

    public func signal(_ name: String, _ arguments: [Argument]) {
        var entry = sd_bus_vtable()
        entry.type = UInt8(_SD_BUS_VTABLE_SIGNAL)
        entry.x.signal.member = kept(name)
        entry.x.signal.signature = kept(arguments.map(\.type).joined())
        entry.x.signal.names = kept(arguments)
        entries.append(entry)
    }

    /// Whether and how the value of a property changes; the annotation `EmitsChangedSignal` of the specification.
    public enum Change: Sendable {
        case announced, constant, unannounced
    }

    /// A property; `get` appends its value, and `set`, if it can be set, reads the new one.
    public func property(
        _ name: String, _ type: String, _ change: Change, get: @escaping (borrowing BusMessage) -> Void,
        set: Method? = nil
    ) {
        var entry = sd_bus_vtable()
        entry.type = UInt8(set == nil ? _SD_BUS_VTABLE_PROPERTY : _SD_BUS_VTABLE_WRITABLE_PROPERTY)
        switch change {
        case .announced: entry.flags = UInt64(SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
        case .constant: entry.flags = UInt64(SD_BUS_VTABLE_PROPERTY_CONST)
        case .unannounced: entry.flags = 0
        }
        if set != nil { entry.flags |= UInt64(SD_BUS_VTABLE_UNPRIVILEGED) }
        entry.x.property.member = kept(name)
        entry.x.property.signature = kept(type)
        entry.x.property.get = onGet
        entry.x.property.set = set == nil ? nil : onSet
        entry.x.property.offset = register(.property(get, set))
        entries.append(entry)
    }

    /// Puts the interface on the bus at a path. Nothing can be added to it afterwards.
    public func export(on bus: BusConnection, path: String) throws(SystemdError) {
        precondition(contexts == nil, "an interface is exported once")
        var end = sd_bus_vtable()
        end.type = UInt8(_SD_BUS_VTABLE_END)
        let table = UnsafeMutablePointer<sd_bus_vtable>.allocate(capacity: entries.count + 1)
        table.initialize(from: entries + [end], count: entries.count + 1)
        // The handlers are kept alive by `handlers`, and sd-bus adds an entry's offset to this address: so every
        // callback is given the address of its own handler's reference.
        let contexts = UnsafeMutablePointer<Unmanaged<Handler>>.allocate(capacity: max(1, handlers.count))
        contexts.initialize(from: handlers.map { Unmanaged.passUnretained($0) }, count: handlers.count)
        self.contexts = contexts
        self.table = table
        try check(sd_bus_add_object_vtable(bus.raw, &slot, path, name, table, contexts), "sd_bus_add_object_vtable")
    }

    private func kept(_ text: String) -> UnsafePointer<CChar> { kept(Array(text.utf8CString)) }

    /// The names of arguments as sd-bus wants them: each ends with a NUL, and one more NUL ends them all.
    private func kept(_ arguments: [Argument]) -> UnsafePointer<CChar> {
        kept(arguments.flatMap { Array($0.name.utf8CString) } + [0])
    }

    private func kept(_ bytes: [CChar]) -> UnsafePointer<CChar> {
        let block = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        block.initialize(from: bytes, count: bytes.count)
        texts.append(UnsafePointer(block))
        return UnsafePointer(block)
    }

    private func register(_ kind: Handler.Kind) -> Int {
        handlers.append(Handler(kind))
        return (handlers.count - 1) * MemoryLayout<Unmanaged<Handler>>.stride
    }
}

private final class Handler {
    enum Kind {
        case method(BusInterface.Method)
        case property((borrowing BusMessage) -> Void, BusInterface.Method?)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    static func at(_ context: UnsafeMutableRawPointer?) -> Handler {
        context!.assumingMemoryBound(to: Unmanaged<Handler>.self).pointee.takeUnretainedValue()
    }
}

private let onCall: sd_bus_message_handler_t = { message, context, error in
    guard case .method(let body) = Handler.at(context).kind else {
        preconditionFailure("a method's entry has a method's handler")
    }
    do throws(BusFailure) {
        try body(BusMessage(retaining: message!))
        return 1
    } catch let failure {
        return sd_bus_error_set(error, failure.name, failure.text)
    }
}

private let onGet: sd_bus_property_get_t = { _, _, _, _, reply, context, _ in
    switch Handler.at(context).kind {
    case .property(let get, _): get(BusMessage(retaining: reply!))
    case .method: preconditionFailure("a property's entry has a property's handler")
    }
    return 1
}

private let onSet: sd_bus_property_set_t = { _, _, _, _, value, context, error in
    guard case .property(_, let set?) = Handler.at(context).kind else {
        preconditionFailure("a writable property's entry has a handler that sets it")
    }
    do throws(BusFailure) {
        try set(BusMessage(retaining: value!))
        return 1
    } catch let failure {
        return sd_bus_error_set(error, failure.name, failure.text)
    }
}

/// The end of windows: rule 5. What nobody claimed goes to the banner of the key, all of it into one.
extension Router {
    mutating func endWindow(_ key: CoalescingKey, at now: Now) {
        guard let window = windows.removeValue(forKey: key) else {
            preconditionFailure("a window's end is struck off the agenda when the window closes early")
        }
        for id in window.unclaimed.ids {
            guard var open = events.removeValue(forKey: id) else {
                preconditionFailure("an event in a window is held until it is decided")
            }
            open.deadline = window.deadline
            events[id] = open
            if open.expires <= now.uptime {
                decide(id, Resolution(.expired))
                events[id] = nil
            } else {
                wait(id, for: key)
            }
        }
    }

    /// Lets an event wait for the server, in the banner of a key.
    mutating func wait(_ id: EventID, for key: CoalescingKey) {
        if banners[key] == nil {
            lastSerial += 1
            banners[key] = Banner(serial: lastSerial)
        }
        banners[key]!.waiting.insert(id)
        events[id]!.place = .waiting(key)
        lifetimes.put(id, at: events[id]!.expires)
        enqueue(key)
    }

    mutating func expireWaiting(_ id: EventID) {
        guard case .waiting(let key) = events[id]?.place else {
            preconditionFailure("only an event that waits for the server is on the agenda of lifetimes")
        }
        decide(id, Resolution(.expired))
        events[id] = nil
        banners[key]!.waiting.remove(id)
        dropIfEmpty(key)
    }
}

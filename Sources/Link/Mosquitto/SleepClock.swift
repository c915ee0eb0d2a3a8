import CMosquitto

/// The clocks of a connection and of its line.
package enum SleepClock {
    /// Goes on while the machine sleeps; microseconds.
    package static var now: Int64 { notifyd_mqtt_clock(CLOCK_BOOTTIME) }

    /// For how long the machine has slept; microseconds.
    static var asleep: Int64 { now - notifyd_mqtt_clock(CLOCK_MONOTONIC) }
}

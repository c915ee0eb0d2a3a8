import NotifyRehearsal
package import Testing

/// What a test needs around it: `@Test(.rig)` sets up a rig before each case of the test, and takes it down afterwards.
///
/// A suite holds it as `private let rig: Rig! = Fixture.current()`.
package struct Fixture: TestTrait, TestScoping {
    @TaskLocal private static var values: [any Sendable] = []

    private let run: @Sendable (_ test: @Sendable () async throws -> Void) async throws -> Void

    /// - Parameter with: sets something up, hands it to a body and takes it down again.
    package init<each Value: Sendable>(
        _ with: @escaping @Sendable (_ body: (repeat each Value) async throws -> Void) async throws -> Void
    ) {
        run = { test in
            try await with { (value: repeat each Value) in
                var values: [any Sendable] = []
                repeat values.append(each value)
                try await Self.$values.withValue(values) { try await test() }
            }
        }
    }

    /// What of this type is set up for the present test; `nil` if nothing is.
    package static func current<Value>() -> Value? { values.lazy.compactMap { $0 as? Value }.first }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await run(function)
    }
}

extension Trait where Self == Fixture {
    package static var privateBus: Self {
        Fixture { (body: (PrivateBus) async throws -> Void) in try await withPrivateBus { try await body($0) } }
    }

    package static var broker: Self {
        Fixture { (body: (PrivateBroker) async throws -> Void) in try await withBroker { try await body($0) } }
    }

    /// A bus with a daemon, a notification server, a client and a listener.
    package static var rig: Self { rig() }

    package static func rig(configuration: String = Rig.configuration) -> Self {
        Fixture { try await withRig(configuration: configuration, $0) }
    }
}

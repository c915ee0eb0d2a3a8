/// How much longer than usual everything may take. A sanitizer makes programs many times slower, and what runs the tests
/// with one says so: no limit of a wait, and no tolerance, has to be made for that.
package enum Slack {
    /// What limits and tolerances are multiplied by: `REHEARSAL_SLACK`, 1 where nothing is said.
    package static let factor = ChildProcess.currentEnvironment["REHEARSAL_SLACK"].flatMap { Int($0) } ?? 1
}

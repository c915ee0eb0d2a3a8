package import Glibc

/// The environment of this process.
package enum ProcessEnvironment {
    /// All variables by their names.
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            // A character may begin with the sign, and go on with a combining one.
            if let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) {
                variables[String(text[..<sign])] = String(text[text.utf8.index(after: sign)...])
            }
            next += 1
        }
        return variables
    }
}

/// Starts a program; posix_spawn(3). Signals that this process ignores or blocks are neither ignored nor blocked there.
/// What is not close-on-exec is inherited.
///
/// - Parameters:
///   - vector: the program, which is looked up in `PATH`, and its arguments; not empty.
///   - environment: all of it; nothing is inherited.
///   - descriptors: of this process, by the numbers that they have there.
///   - inOwnGroup: whether it begins a group of processes.
/// - Returns: the number of the process, or the negative error number.
package func spawn(
    _ vector: [String], environment: [String: String], descriptors: [CInt: CInt] = [:], inOwnGroup: Bool = false
) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in descriptors { posix_spawn_file_actions_adddup2(&actions, source, target) }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let group = inOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))

    var arguments: [UnsafeMutablePointer<CChar>?] = vector.map { strdup($0) } + [nil]
    var lines: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for pointer in arguments + lines { free(pointer) } }
    var child: pid_t = 0
    let error = posix_spawnp(&child, vector[0], &actions, &attributes, &arguments, &lines)
    return error == 0 ? child : -error
}

import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `notifyctl link` as far as it only makes and reads files.
struct LinkCommandTests {
    /// Runs a shell script with a folder of its own for the configuration.
    private func run(_ script: String, in home: TemporaryFolder) async throws -> CommandResult {
        let programs = String(BuiltPrograms.notifyctl.dropLast("/notifyctl".count))
        let environment = [
            "HOME": home.path, "XDG_CONFIG_HOME": home.path, "PATH": "\(programs):/usr/bin:/bin", "LC_ALL": "C.UTF-8",
        ]
        return try await ChildProcess.run(
            "/bin/sh", ["-c", script], environment: environment, within: .seconds(30))
    }

    @Test func anotherDeviceJoinsWithTheInvitation() async throws {
        let desk = try TemporaryFolder()
        let phone = try TemporaryFolder()
        let made = try await run(
            "echo secret | notifyctl link init --server mqtts://broker.example --user mina "
                + "--name desk --password-file -",
            in: desk)
        #expect(made.exit == .code(0))
        #expect(
            made.output == [
                "Made \(desk.path)/notifyd/mqtt.password.", "Made \(desk.path)/notifyd/link.key.",
                "Made \(desk.path)/notifyd/mqtt.toml.",
                "Now: systemctl --user enable notifyd-mqtt && systemctl --user restart notifyd-mqtt",
                "Then: notifyctl link pair",
            ])
        let files = try await run("cd \(desk.path)/notifyd && stat -c '%a %n' *; cat mqtt.toml", in: desk).output
        #expect(
            files == [
                "600 link.key", "600 mqtt.password", "600 mqtt.toml",
                "# The link between your devices: notifyd-mqtt.toml(5).", "[link]",
                #"server = "mqtts://broker.example""#, #"user = "mina""#, #"name = "desk""#,
                #"password = { file = "mqtt.password" }"#, #"key = { file = "link.key" }"#,
            ])

        let line = try await run("notifyctl link pair", in: desk).output
        #expect(line.count == 1)
        #expect(line.first?.hasPrefix("notifyd-link:") == true)
        // A line that was broken in copying still counts.
        let joined = try await run(
            "echo '  \(line[0].prefix(40))\(line[0].dropFirst(40)) ' | notifyctl link join --name phone", in: phone)
        #expect(joined.exit == .code(0), "\(joined.errors)")
        #expect(joined.output.last == "Then: notifyctl link")
        for file in ["link.key", "mqtt.password"] {
            let difference = try await run("cmp \(desk.path)/notifyd/\(file) \(phone.path)/notifyd/\(file)", in: desk)
            #expect(difference.exit == .code(0), "\(file) differs")
        }
        #expect(
            try await run("cat notifyd/mqtt.toml || cat $HOME/notifyd/mqtt.toml", in: phone).output.contains(
                #"name = "phone""#))
        #expect(try await run("notifyctl link pair", in: phone).output == line)
    }

    @Test func certificatesOfAnOwnAuthorityAreCopied() async throws {
        let home = try TemporaryFolder()
        let certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----"
        let path = try home.write(certificate + "\n", to: "ca.pem")
        let made = try await run(
            "notifyctl link init --server mqtts://a --user mina --name desk --authorities \(path)", in: home)
        #expect(made.exit == .code(0), "\(made.errors)")
        let text = try await run("cd $HOME/notifyd; grep authorities mqtt.toml; cat mqtt.authorities.pem", in: home)
        #expect(text.output.joined(separator: "\n") == "authorities = \"mqtt.authorities.pem\"\n" + certificate)
    }

    @Test func whatIsThereIsNotOverwritten() async throws {
        let home = try TemporaryFolder()
        let command = "notifyctl link init --server mqtt://localhost --user mina --name desk"
        #expect(try await run(command, in: home).exit == .code(0))
        let before = try await run("cat $HOME/notifyd/*", in: home).output
        let again = try await run(command, in: home)
        #expect(again.exit == .code(77))
        #expect(again.errors.first?.contains("end it with “notifyctl link leave” first") == true)
        #expect(try await run("cat $HOME/notifyd/*", in: home).output == before)
    }

    @Test func nothingIsLeftOfALinkThatCannotBeMade() async throws {
        let home = try TemporaryFolder()
        let result = try await run(
            "mkdir -p $HOME/notifyd/mqtt.toml.d; ulimit -f 0; trap '' XFSZ; "
                + "notifyctl link init --server mqtt://localhost --user mina --name desk", in: home)
        #expect(result.exit == .code(77), "\(result.errors)")
        #expect(result.errors.first?.contains("cannot be written: File too large") == true)
        #expect(try await run("ls $HOME/notifyd", in: home).output == ["mqtt.toml.d"])
    }

    @Test(arguments: [
        ("notifyctl link pair", 78, "There is no link"),
        ("notifyctl link init --server broker --user mina --name desk", 64, "“broker” is not a broker"),
        ("notifyctl link init --server mqtt://broker.example --user mina --name desk", 65, "allow it: --insecure"),
        ("notifyctl link init --server mqtts://a --user a/b --name desk", 65, "'user' has 1 to 32 bytes"),
        ("echo hello | notifyctl link join --name a", 65, "This is not an invitation"),
        ("echo notifyd-link:e | notifyctl link join --name a", 65, "The invitation is not whole"),
        ("echo notifyd-link:e30= | notifyctl link join --name a", 65, "from a newer notifyctl"),
        ("notifyctl link join --name a < /dev/null", 65, "Standard input has no line"),
        (
            "notifyctl link init --server mqtts://a --user b --name c --password-file - < /dev/null", 64,
            "Standard input holds no secret: it is empty"
        ),
        (
            "notifyctl link init --server mqtts://a --user b --name c --authorities /etc/passwd", 64,
            "holds no certificate"
        ),
        (
            "notifyctl link init --server mqtts://a --user b --name c --password-file nowhere", 64,
            "nowhere does not exist"
        ),
    ])
    func aMistakeIsToldAndNothingIsMade(_ script: String, _ code: CInt, _ advice: String) async throws {
        let home = try TemporaryFolder()
        let result = try await run(script, in: home)
        #expect(result.exit == .code(code), "\(result.errors)")
        #expect(result.errors.contains { $0.contains(advice) }, "\(result.errors)")
        #expect(try await run("ls -A $HOME", in: home).output.isEmpty)
    }

    @Test func aCredentialOfTheUnitIsGivenByHand() async throws {
        let home = try TemporaryFolder()
        let key = String(repeating: "0123456789abcdef", count: 4)
        let result = try await run(
            """
            mkdir $HOME/notifyd; printf '[link]\\nserver = "mqtt://localhost"\\nuser = "mina"\\nname = "a"\\n' \
            > $HOME/notifyd/mqtt.toml
            echo 'key = { credential = "link" }' >> $HOME/notifyd/mqtt.toml
            notifyctl link pair; echo \(key) | notifyctl link pair --key-file - | cut -c1-13
            """, in: home)
        #expect(result.errors.first?.contains("give the file with --key-file") == true, "\(result.errors)")
        #expect(result.output == ["notifyd-link:"])
    }
}

/// `notifyctl demo link` with three devices and a real mosquitto.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct LinkDemoTests {
    @Test func threeDevicesPlayTheWholeStory() async throws {
        let process = try ChildProcess(
            BuiltPrograms.notifyctl, ["demo", "link"], environment: ChildProcess.currentEnvironment, capturing: [1, 2])
        let exit = await process.waitForExit(within: .seconds(90))
        let lines = try #require(await process.allLines(of: 1))
        let errors = await process.allLines(of: 2) ?? []
        #expect(exit == .code(0), "\(lines.joined(separator: "\n"))\n\(errors.joined(separator: "\n"))")
        #expect(errors.isEmpty)
        #expect(lines.last == "✓ All 4 went as they should.")
        for name in ["desk", "laptop", "phone"] {
            #expect(lines.filter { $0.hasPrefix("  \(name) ") }.count == 4)
            #expect(lines.contains { $0.hasPrefix("  \(name) ") && $0.contains("has all 15 at") })
        }
        #expect(lines.contains { $0.hasPrefix("  phone ") && $0.contains("taken down at") })
    }

    @Test func withoutABrokerTheErrorSaysWhatToInstall() {
        #expect {
            try PrivateBroker.locate(in: ["/nowhere"])
        } throws: {
            "\($0)".contains("apt install mosquitto")
        }
    }
}

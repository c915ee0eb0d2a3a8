/// The version of this project: of the daemon, of its command line and of the client library.
package let projectVersion = "1.0.0"

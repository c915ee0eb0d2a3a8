/// The version of this project: of the daemon, of its command line and of the client library.
package let projectVersion = "0.1.0"

// Package proxy stands between a client and a server that somebody else wrote, passes their bytes on unchanged, and
// judges what passes: the clauses that monitors can judge from observed traffic alone (monitor.Monitor.Passive), of
// both sides where the protocol has clauses of both. HTTP, event streams and WebSockets pass through a gate (package
// simulator/gate); a command that speaks by its stdin and stdout is started by [Pipe].
//
// What passes is recorded as the testers of the judged roles would have recorded it. A target that listens is judged by
// all connections together. A target that connects is judged connection by connection, since nobody knows which of
// them belong to the same program. The package knows no protocol.
//
// Memory is bounded: records beyond the newest ones are in temporary files, monitors see the records that a run would
// keep (transcript.First), and those beyond are judged only by monitors of single records.
package proxy

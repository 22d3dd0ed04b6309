// Package proxy is placed between a foreign client and a foreign server. It passes on their bytes unchanged, and judges
// the clauses that monitors can judge from observed traffic alone (monitor.Monitor.Passive), for both sides if the
// protocol has clauses for both. HTTP, event streams and WebSockets pass through a gate (package simulator/gate); a
// command that uses its stdin and stdout is started by [Pipe].
//
// The traffic is recorded as the testers of the judged roles would have recorded it. A target that listens is judged by
// all connections together. A target that connects is judged connection by connection, since it is unknown which of
// them belong to the same program. The package knows no protocol.
//
// Memory is bounded: records beyond the newest ones are in temporary files, monitors see the records that a run would
// keep (transcript.First), and those beyond are judged only by monitors of single records.
package proxy

package mutants

// cutFaults show only if the connection of an agent ends at a certain point, and the agent then reconnects.
var cutFaults = map[string]fault{
	"end-after-a-message-loses-snapshots": likeRelay("end-after-a-message-loses-snapshots"),
	"end-after-the-start-loses-snapshots": likeRelay("end-after-the-start-loses-snapshots"),
	"end-after-a-call-loses-snapshots":    likeRelay("end-after-a-call-loses-snapshots"),
}

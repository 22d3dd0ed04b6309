package sessionruntime

// More subtypes of ERROR that are the bundled orchestrator's own.
const (
	Overloaded = "OVERLOADED"          // a limit is reached
	InProgress = "ALREADY_IN_PROGRESS" // a transaction of the same kind and subject is open
)

// Problem is the set-up frame that answers a frame which can't be taken. Its member "text" says why.
const Problem = "error"

package sessionruntime

// More ERROR subtypes of the bundled orchestrator.
const (
	Overloaded = "OVERLOADED"          // a limit is reached
	InProgress = "ALREADY_IN_PROGRESS" // a transaction of the same kind and subject is open
)

// Problem is the set-up frame that answers an unacceptable frame. Its member "text" says why.
const Problem = "error"

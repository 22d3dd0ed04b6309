package launch

import (
	"errors"
	"fmt"

	"parley/runner"
)

// ErrInVain ends a Serving.Run that has not done what it was to do, and has said so.
var ErrInVain = errors.New("in vain")

// Usagef is the error of a flag that cannot be, or whose value cannot.
func Usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(format, args...)}
}

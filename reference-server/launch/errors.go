package launch

import (
	"errors"
	"fmt"

	"parley/runner"
)

// ErrInVain is returned by a Serving.Run that failed and has already said so.
var ErrInVain = errors.New("in vain")

// Usagef returns an error about an invalid flag or flag value.
func Usagef(format string, args ...any) error {
	return &runner.UsageError{Msg: fmt.Sprintf(format, args...)}
}

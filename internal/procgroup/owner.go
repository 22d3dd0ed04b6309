package procgroup

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
)

// Variable is the environment variable by which a process that this one started, and its descendants, can be found
// after they have left their group. Its value is the Owner of this process and a number.
const Variable = "PARLEY_OWNER"

var marks atomic.Int64

// Mark gives a command's environment a Variable of its own, and returns its value; "" where Owner is unknown.
func Mark(cmd *exec.Cmd) (mark string) {
	if Owner() == "" {
		return ""
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	mark = fmt.Sprintf("%s-%d", Owner(), marks.Add(1))
	cmd.Env = append(cmd.Env, Variable+"="+mark)
	return mark
}

// Folder makes a temporary folder that Sweep removes once this process has ended without doing so.
func Folder(kind string) (string, error) {
	name := "parley-" + kind + "-"
	if Owner() != "" {
		name += Owner() + "-"
	}
	return os.MkdirTemp("", name)
}

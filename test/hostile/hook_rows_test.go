package hostile_test

import "net/http"

// hooked is a row of a right server with a hook that adds agents.
func hooked(name, does, hook, says string) row {
	return row{name: name, peer: "hook", of: "agent-select", does: does, says: says, right: true, exit: 5,
		exits: []int{0},
		tags:  "@AS-026 or @AS-027", keys: "hooks:\n  add-agent: |\n    " + hook + "\n  change-agent: |\n    " + hook +
			"\n  remove-agent: |\n    " + hook + "\n  config-digest: |\n    " + hook + "\n",
		serve: conforming(func(w http.ResponseWriter) http.ResponseWriter { return w })}
}

// hookRows are hooks that do not do what they are for.
var hookRows = []row{
	hooked("prints without end", "never stops to print", "while :; do printf %01000d 0; done",
		"printed more than 16 MiB"),
	hooked("complains without end", "never stops to complain",
		"while :; do printf %01000d 0; done >&2", "printed more than 16 MiB"),
	hooked("never ends", "takes for ever", "sleep 600", "hook [a-z-]+: took longer than"),
	hooked("will not end", "takes for ever, and ignores signals", "trap '' TERM INT HUP; while :; do sleep 1; done",
		"hook [a-z-]+: took longer than"),
	hooked("reads its stdin", "waits for input", "cat; exit 3", "exit status 3"),
	hooked("fails in colours", "clears the terminal and fails", `printf '\033[2J\033]0;x\007no\n'; exit 1`,
		`hook [a-z-]+: exit status 1`),
	hooked("kills itself", "is killed", "kill -9 $$", "hook [a-z-]+: signal: killed"),
	hooked("does not exist", "names a program that is not there", "no-such-program", "not found"),
	idle("does nothing", "says that it has worked, and has done nothing", "true", "AS-027"),
}

// idle is hooked, with a hook for whose idleness the server is blamed: nobody can tell them apart.
func idle(name, does, hook, says string) row {
	r := hooked(name, does, hook, says)
	r.exit, r.exits, r.breaks = 1, nil, []string{"AS-026", "AS-027", "AS-006"}
	return r
}

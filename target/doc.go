// Package target describes what is under test and runs it.
//
// A Profile is read from YAML by Kinds.Load, or made from a bare URL by Kind.ForURL. It names the target (a URL, a
// command, or both), its capabilities, its time limits, and how its wire differs from the default binding. A Launcher
// turns a Profile into a Running target: for a command, a process in its own process group, on a free port, with a
// private scratch folder; for a URL, a check that a server listens there. For a target that connects to the harness
// (Profile.Dials) the order is reversed: its Running is a Caller, which starts the command once the harness has an
// address for it to connect to. For a target that uses its stdin and stdout, the Running is a Piper, which starts the
// command for each connection that needs a process. A page in a folder is served by the harness itself.
//
// The shape of a profile, with every key and its default, is Kind.Example. A protocol brings a Kind, which adds
// sections to a profile for its wire; SectionOf finds them. What only some targets can do is an interface beyond
// Running: Exiter, Caller, Piper, Speaker, Paged, Driven, LogKeeper.
//
// Errors that callers distinguish: *ProfileError (the profile is wrong), *UnreachableError and *StartError (the
// target cannot be reached or started), *NotDeclaredError (the profile gives no way to do what was asked), *HookError
// (a hook failed), *OutsideError (a target names a file outside its log folder).
package target

// Package pages is the catalogue of faulty pages of agent-client: each is the bundled one with a single named fault that a real
// page might have, and each breaks few clauses. They prove that the suite bites.
//
// A fault is a patch of the files that are served, so that none stands inside the correct page. The rows stand in the other
// files, by subject. A fault that is right and that nothing finds stands there too, behind "survives", with what would find it.
package pages

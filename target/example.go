package target

import _ "embed"

//go:embed example.yaml
var example string

// Example is a commented profile with every key. Keys that are not commented out stand at their defaults, apart from url; a line
// with a # right before its key shows one that has no default.
func Example() string { return example }

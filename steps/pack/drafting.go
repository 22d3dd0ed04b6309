package pack

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"parley/internal/script"
)

//go:embed template
var template embed.FS

// Draft returns the files of a new folder for a protocol, by their names in it: a small protocol that is complete, to
// be changed step by step. The error says what is wrong with the id.
func Draft(id string) (map[string][]byte, error) {
	if !protocolID.MatchString(id) {
		return nil, fmt.Errorf("%q is not an id: small letters, digits and single hyphens (my-protocol)", id)
	}
	named := strings.NewReplacer("my-protocol", id, "prefix: MP", "prefix: "+prefixOf(id), "MP-", prefixOf(id)+"-")
	out := map[string][]byte{"schemas/protocol.schema.json": ProtocolSchema(),
		"schemas/clauses.schema.json": ClausesSchema(), "schemas/mutants.schema.json": MutantsSchema(),
		"schemas/script.schema.json": script.Schema()}
	err := fs.WalkDir(template, "template", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := template.ReadFile(at)
		out[named.Replace(path.Base(at))] = []byte(named.Replace(string(b)))
		return err
	})
	return out, err
}

// prefixOf returns two capital letters for an id: the first ones of its first words, or of its only one.
func prefixOf(id string) string {
	letters := ""
	for word := range strings.SplitSeq(id, "-") {
		if letters += word[:1]; len(letters) == 2 {
			break
		}
	}
	letters = strings.ToUpper(letters + id[1:] + "P")
	var out strings.Builder
	for _, r := range letters {
		if r >= 'A' && r <= 'Z' && out.Len() < 2 {
			out.WriteRune(r)
		}
	}
	return out.String()
}

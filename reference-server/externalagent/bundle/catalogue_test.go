package bundle

import (
	"testing"

	"parley/features"
	proto "parley/protocol/externalagent"
	agentmutants "parley/reference-server/externalagent/agent/mutants"
	hostmutants "parley/reference-server/externalagent/host/mutants"
	relaymutants "parley/reference-server/externalagent/relay/mutants"
)

func TestCatalogues(t *testing.T) {
	ledger, err := features.Ledger(proto.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	tested := func(clause string) bool {
		row, ok := ledger.Row(clause)
		return ok && row.Tested()
	}
	for party, problems := range map[string]func(func(string) bool) []string{
		"agent": agentmutants.Catalogue.Problems, "host": hostmutants.Catalogue.Problems,
		"relay": relaymutants.Catalogue.Problems, "host under load": hostmutants.UnderLoad.Problems,
		"relay under load": relaymutants.UnderLoad.Problems,
	} {
		for _, problem := range problems(tested) {
			t.Errorf("%s: %s", party, problem)
		}
	}
}

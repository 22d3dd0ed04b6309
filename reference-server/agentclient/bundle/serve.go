package bundle

import (
	"net/http"

	"github.com/spf13/pflag"

	"parley/reference-server/agentclient"
	agentselect "parley/reference-server/agentselect/bundle"
	"parley/reference-server/launch"
)

var service = launch.Service{
	Long: `A page for talking to the agent-select server that is served beside it, or to another one. The URL of the page
is the first line on stdout. The flags of agent-select configure the server.`,
	Examples: []string{"", "--agents ~/.snow/main-agents.toml"},
	Paths:    agentselect.Paths,
	Announce: agentselect.Announced,
	Page:     true,
	Model:    true,
	Flags: func(f *pflag.FlagSet) launch.Serving {
		server := agentselect.Flags(f)
		return launch.Serving{Make: func(at launch.Place) (launch.Handler, error) {
			h, err := server(at)
			if err != nil {
				return nil, err
			}
			return besidePage{h, agentclient.New(agentclient.Options{AllowOrigins: at.AllowOrigins})}, nil
		}}
	},
}

// besidePage is an agent-select server with the agent-client page at the same origin. The page handles its own paths.
type besidePage struct {
	launch.Handler // the server
	page           *agentclient.Page
}

// ServeHTTP implements http.Handler.
func (b besidePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.page.Has(r.URL.Path) {
		b.page.ServeHTTP(w, r)
		return
	}
	b.Handler.ServeHTTP(w, r)
}

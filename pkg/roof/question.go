package roof

import (
	"fmt"
	"net/url"

	"github.com/dezren39/mcpx/pkg/wire"
)

// Question is the params of a server's question to a host that sees one server
// only: its text says who asks, a page to open must be https and is named, and a
// sample is made of no other server's context (threat T20). Whether server may
// ask at all is for the caller to know.
func Question(server, method string, params []byte) ([]byte, error) {
	for _, key := range []string{"message", "mode", "url", "includeContext"} {
		if _, plain := member(params, key); !plain {
			return nil, fmt.Errorf("server %q: asks with more than one %q", server, key)
		}
	}
	switch method {
	case "elicitation/create":
		if len(params) == 0 || params[0] != '{' {
			return nil, fmt.Errorf("server %q: asks without params", server)
		}
		who := "[server " + server + "] "
		if textOf(params, "mode") == "url" {
			page, err := url.Parse(textOf(params, "url"))
			if err != nil || page.Scheme != "https" || page.Hostname() == "" || page.User != nil {
				return nil, fmt.Errorf("server %q: asks to open a page that is not https://host/…", server)
			}
			who = "[server " + server + ", opens " + page.Host + "] "
		}
		return wire.ReplaceMember(params, "message", wire.AppendString(nil, who+textOf(params, "message"))), nil
	case "sampling/createMessage":
		if _, ok := wire.Member(params, "includeContext"); ok {
			return wire.ReplaceMember(params, "includeContext", []byte(`"none"`)), nil
		}
	}
	return params, nil
}

func textOf(object []byte, key string) string {
	at, _ := wire.Member(object, key)
	text, _ := wire.Text(object[at.Start:at.End])
	return text
}

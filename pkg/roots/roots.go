// Package roots holds a session's soft roots: where they came from and how they
// change (design D10). It knows nothing of a connection; session asks the host.
package roots

// Origin says who put a root in the set.
type Origin string

// Origins, from the one that stands above all to the weakest seed (design D10).
const (
	Set    Origin = "set"   // a person: mcpx roots set
	Flag   Origin = "flag"  // --cwd
	Var    Origin = "var"   // MCPX_CWD
	Meta   Origin = "_meta" // a checkout named in a request
	Native Origin = "roots" // the host's roots/list
	Host   Origin = "host"  // a variable the host is known for
	Cwd    Origin = "cwd"   // the shim's working directory
)

// Root is one soft root. Path is canonical; Ignored says why a root that is
// not a directory here (another scheme, a missing path) is only shown.
type Root struct {
	URI     string
	Name    string
	Path    string
	Origin  Origin
	Ignored string
}

package roots

import (
	"bytes"
	"encoding/json"
	"path"
)

// WorkspaceMembers are the two members, rootUri and workspaceFolders, that name
// one directory as language servers have it (record 0004 §5), without braces.
func WorkspaceMembers(dir string) []byte {
	one := struct {
		RootURI string   `json:"rootUri"`
		Folders []folder `json:"workspaceFolders"`
	}{URI(dir), []folder{{URI(dir), Name(dir)}}}
	object := encode(one)
	return object[1 : len(object)-1]
}

// Name is what a root is called when nobody names it: its base name, "/" for
// the root of the file system.
func Name(dir string) string { return path.Base(dir) }

type folder struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// encode leaves <, > and & as they are: nothing here becomes HTML. A value of
// strings always encodes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// ManifestName is the file that says what else Render made.
const ManifestName = "manifest.json"

// Manifest says which files belong to mcpx, and what they were made from.
type Manifest struct {
	Machine string            `json:"machine"`
	Commit  string            `json:"commit"` // "" when it is not known
	Dirty   bool              `json:"dirty"`  // the fleet folder differed from the commit
	Files   map[string]string `json:"files"`  // SHA-256 in hex, by name below the folder
}

func newManifest(in Input, files map[string][]byte) Manifest {
	m := Manifest{Machine: in.Machine, Commit: in.Commit, Dirty: in.Dirty, Files: map[string]string{}}
	for name, data := range files {
		sum := sha256.Sum256(data)
		m.Files[name] = hex.EncodeToString(sum[:])
	}
	return m
}

// Encode is the manifest as it is written.
func (m Manifest) Encode() []byte { return canonical(m) }

// ParseManifest reads a manifest; ok is false for anything else.
func ParseManifest(data []byte) (m Manifest, ok bool) {
	err := json.Unmarshal(data, &m)
	return m, err == nil && m.Files != nil
}

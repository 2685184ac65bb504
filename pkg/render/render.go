// Package render turns a fleet folder into what one machine and its hosts read
// (design §4). It reads and writes no files: fleet does.
package render

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/hostfile"
)

// Names of the files of a fleet folder.
const (
	SharedName = ".mcpx.json"
	RulesName  = "rules.json"
	MachineDir = "machines"
)

// Input is a fleet folder and which of its machines is wanted.
type Input struct {
	Files   map[string][]byte // by slash-separated name below the folder
	Dir     string            // how messages name the folder
	Machine string
	Commit  string // of the files, "" when it is not known
	Dirty   bool   // the files differ from the commit
}

// Render checks the whole fleet and makes the files of one machine: the same
// bytes for the same input, sorted, without byte order mark. There are none when
// any problem is more than a warning.
func Render(in Input) (map[string][]byte, config.Problems) {
	f := read(in)
	problems := named(append(f.check(), f.noSuchMachine()...))
	if problems.HasErrors() {
		return nil, problems
	}
	return f.files(), problems
}

// Check is what Render would find wrong, whatever the machine.
func Check(in Input) config.Problems { return named(read(in).check()) }

// named puts problems in order and gives each a rule: what has none of its own
// is what mcpx check finds in any file.
func named(problems config.Problems) config.Problems {
	for i := range problems {
		if problems[i].Rule == "" {
			problems[i].Rule = "check"
		}
	}
	return problems.InOrder()
}

// Servers are the names in the shared file, sorted.
func Servers(in Input) []string { return read(in).shared.Names() }

// fleet is the folder, parsed.
type fleet struct {
	in       Input
	shared   *config.File
	machines []*config.Machine // sorted by name
}

func read(in Input) fleet {
	f := fleet{in: in}
	f.shared, _ = config.Parse(f.path(SharedName), config.Explicit, in.Files[SharedName])
	for _, name := range f.machineNames() {
		file := machineFile(name)
		m, _ := config.ParseMachine(f.path(file), in.Files[file])
		f.machines = append(f.machines, m)
	}
	return f
}

func (f fleet) path(name string) string { return path.Join(f.in.Dir, name) }

func machineFile(name string) string { return path.Join(MachineDir, name+".json") }

func (f fleet) machineNames() []string {
	var names []string
	for file := range f.in.Files {
		dir, base := path.Split(file)
		if name, ok := strings.CutSuffix(base, ".json"); ok && dir == MachineDir+"/" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// machine is the one wanted, nil when there is none of that name.
func (f fleet) machine() *config.Machine {
	i := slices.Index(f.machineNames(), f.in.Machine)
	if i < 0 {
		return nil
	}
	return f.machines[i]
}

func (f fleet) noSuchMachine() config.Problems {
	if f.machine() != nil {
		return nil
	}
	p := config.Problem{File: f.path(machineFile(f.in.Machine)), Msg: "no such machine"}
	names := f.machineNames()
	if near := config.DidYouMean(f.in.Machine, names); near != "" {
		p.Hint = "did you mean " + near + "?"
	} else if len(names) > 0 {
		p.Hint = "there are: " + strings.Join(names, " ")
	} else {
		p.Hint = `write it: { "home": "/home/you" }`
	}
	return config.Problems{p}
}

// files are those of the machine, of a fleet without errors.
func (f fleet) files() map[string][]byte {
	m := f.machine()
	over := m.Over(f.shared)
	out := map[string][]byte{"mcpx/config.json": canonical(over.RawFile())}
	if data, ok := f.in.Files[RulesName]; ok {
		out["mcpx/rules.json"] = canonicalJSON(f.path(RulesName), data)
	}
	for _, name := range m.Hosts {
		h, _ := hostfile.Named(name) // a check
		out[path.Join("hosts", h.Name, h.File)] = hostEntries(h, over, m.RuntimeDir)
	}
	out[ManifestName] = newManifest(f.in, out).Encode()
	return out
}

// hostEntries are those of all servers but the disabled ones, which would show
// empty lists.
func hostEntries(h hostfile.Host, over *config.File, runtimeDir string) []byte {
	var entries []hostfile.Entry
	for _, name := range over.Names() {
		if m := over.Raw(name).Mcpx; m == nil || m.Disabled == nil || !*m.Disabled {
			entries = append(entries, hostfile.Connect(name, runtimeDir))
		}
	}
	data, err := h.Encode(entries)
	if err != nil {
		panic("render: entries of strings do not encode: " + err.Error())
	}
	return data
}

// canonical is JSON with all keys sorted and a newline at the end.
func canonical(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("render: a checked config does not marshal: " + err.Error())
	}
	return canonicalJSON("", data)
}

// canonicalJSON does the same with a file that is known to parse.
func canonicalJSON(file string, data []byte) []byte {
	plain, p := config.Standard(file, data)
	if p != nil {
		panic("render: a checked file does not parse: " + p.Error())
	}
	var doc any
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		panic("render: a checked file does not parse: " + err.Error())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		panic("render: what was parsed does not marshal: " + err.Error())
	}
	return b.Bytes()
}

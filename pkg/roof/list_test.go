package roof

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dezren39/mcpx/pkg/wire"
	"github.com/google/go-cmp/cmp"
)

func pages(lists ...string) []Page {
	var out []Page
	for i := 0; i < len(lists); i += 2 {
		p := Page{Server: lists[i]}
		if lists[i+1] != "" {
			p.Result = []byte(lists[i+1])
		}
		out = append(out, p)
	}
	return out
}

func TestMerge(t *testing.T) {
	tests := []struct {
		name  string
		kind  Kind
		pages []Page
		want  string
		left  []Left
	}{
		{"items keep their bytes but for the name", Tools,
			pages("a", `{"tools":[{"description":"1 < 2","name" : "x","n":9007199254740993, "_meta":{"ui/resourceUri":"ui://x"}}],"nextCursor":"c"}`),
			`{"tools":[{"description":"1 < 2","name" : "a__x","n":9007199254740993, "_meta":{"ui/resourceUri":"ui://x"}}]}`, nil},
		{"servers stand in the order of their names, items in their own", Prompts,
			pages("b", `{"prompts":[{"name":"z"},{"name":"a"}]}`, "a", `{"prompts":[{"name":"q"}]}`),
			`{"prompts":[{"name":"a__q"},{"name":"b__z"},{"name":"b__a"}]}`, nil},
		{"one name in two servers is two", Tools,
			pages("a", `{"tools":[{"name":"search"}]}`, "b", `{"tools":[{"name":"search"}]}`),
			`{"tools":[{"name":"a__search"},{"name":"b__search"}]}`, nil},
		{"a tool that is listed twice is one", Tools, pages("a", `{"tools":[{"name":"x","v":1},{"name":"\u0078","v":2}]}`),
			`{"tools":[{"name":"a__x","v":1}]}`, []Left{{"a", "x", "listed twice"}}},
		{"what has no name that all read alike is left out", Tools,
			pages("a", `{"tools":[{"name":7},{},"x",{"name":""},{"name":"\ud800"},{"name":"b__y","name":"y"},{"name":"y","Name":"b__y"},{"name":"y","name\u0000":"b__y"},{"name":"ok"}]}`),
			`{"tools":[{"name":"a__ok"}]}`, []Left{{"a", "", "8 without a name that can be read"}}},
		{"of one URI the first server wins", Resources,
			pages("b", `{"resources":[{"uri":"file:///x","name":"b"},{"uri":"file:///y"}]}`, "a", `{"resources":[{"uri":"file:\/\/\/x","name":"a"}]}`),
			`{"resources":[{"uri":"file:\/\/\/x","name":"a"},{"uri":"file:///y"}]}`, []Left{{"b", "file:///x", "server a has it"}}},
		{"templates likewise", Templates, pages("b", `{"resourceTemplates":[{"uriTemplate":"db://{t}"}]}`, "a", `{"resourceTemplates":[{"uriTemplate":"db://{t}"}]}`),
			`{"resourceTemplates":[{"uriTemplate":"db://{t}"}]}`, []Left{{"b", "db://{t}", "server a has it"}}},
		{"servers that list nothing, or not yet", Tools, pages("a", `{}`, "b", ``, "c", `{"tools":null}`), `{"tools":[]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := Merge(tt.kind, tt.pages)
			if diff := cmp.Diff(tt.want, string(l.Result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, l.Left); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	l := Merge(Tools, pages(
		"foo", `{"tools":[{"name":"bar__baz"},{"name":"x.y"}]}`,
		"foo__bar", `{"tools":[{"name":"baz"}]}`,
		"late", ``, "late__r", ``))
	tests := []struct {
		name string
		want Target
		ok   bool
	}{
		{"foo__bar__baz", Target{"foo", "bar__baz", false}, true},
		{Name("foo__bar", "baz"), Target{"foo__bar", "baz", false}, true},
		{Name("foo", "x.y"), Target{"foo", "x.y", false}, true},
		{"foo__x.y", Target{}, false},   // no host was given this
		{"foo__other", Target{}, false}, // foo's list is known
		{"bar__baz", Target{}, false},
		{"baz", Target{}, false},
		{"", Target{}, false},
		{"late__any", Target{"late", "any", true}, true}, // not listed yet, and nobody else's
		{"late__r__x", Target{"late", "r__x", true}, true},
		{"late__", Target{}, false},
		{"late__" + strings.Repeat("x", 60), Target{}, false}, // it would have a short name
		{"hidden__x", Target{}, false},
	}
	for _, tt := range tests {
		if got, ok := l.Find(tt.name); got != tt.want || ok != tt.ok {
			t.Errorf("Find(%q) = %v %v, want %v %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
	if diff := cmp.Diff([]string{"late", "late__r"}, l.Unknown()); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

// TestANameThatTwoHaveIsNeithers: should two hashes ever be the same.
func TestANameThatTwoHaveIsNeithers(t *testing.T) {
	l := &List{kind: Tools, targets: map[string]Target{}}
	of := func(server, name string) entry {
		return entry{Target: Target{Server: server, Item: "t"}, name: name, item: []byte(`{"name":"t"}`), at: wire.Span{Start: 8, End: 11}}
	}
	l.settle([]entry{of("a", "same"), of("b", "other"), of("c", "same")})
	if got, want := string(l.Result), `{"tools":[{"name":"other"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, ok := l.Find("same"); ok || len(l.Left) != 2 {
		t.Errorf("found, or not told: %v", l.Left)
	}
}

// TestMergeKeepsCount: report I9. Whatever servers list, in whatever order they
// come, names are unique, each finds its owner, and as many are listed as there
// are.
func TestMergeKeepsCount(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var in []Page
		want := 0
		for i := range 1 + r.IntN(8) {
			items := map[string]bool{}
			var list []string
			for range r.IntN(40) {
				name := strings.Repeat([]string{"_", "a", "a.", "__b"}[r.IntN(4)], 1+r.IntN(20))
				if !items[name] {
					items[name] = true
					list = append(list, fmt.Sprintf(`{"name":%q}`, name))
				}
			}
			want += len(items)
			in = append(in, Page{fmt.Sprintf("s%d%s", i, strings.Repeat("_", r.IntN(3))), []byte(`{"tools":[` + strings.Join(list, ",") + `]}`)})
		}
		l := Merge(Tools, in)
		var got struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(l.Result, &got); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, tool := range got.Tools {
			target, ok := l.Find(tool.Name)
			if !ok || seen[tool.Name] || Name(target.Server, target.Item) != tool.Name {
				t.Fatalf("seed %d: %s is %v %v, or twice", seed, tool.Name, target, ok)
			}
			seen[tool.Name] = true
		}
		if len(got.Tools) != want || l.Left != nil {
			t.Errorf("seed %d: %d tools, want %d; left %v", seed, len(got.Tools), want, l.Left)
		}
		for range 5 {
			r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			if again := Merge(Tools, in); string(again.Result) != string(l.Result) {
				t.Fatalf("seed %d: the order of arrival shows", seed)
			}
		}
	}
}

// TestTooManyCostOnlyTheirServer: threat T34.
func TestTooManyCostOnlyTheirServer(t *testing.T) {
	flood := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"name":"t%d"}`, i)
		}
		return []byte(`{"tools":[` + b.String()[1:] + `]}`)
	}
	l := Merge(Tools, []Page{{"a", flood(12_000)}, {"b", flood(11_000)}, {"c", flood(100)}})
	count := map[string]int{}
	for _, target := range l.targets {
		count[target.Server]++
	}
	if diff := cmp.Diff(map[string]int{"a": 4950, "b": 4950, "c": 100}, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Left{
		{"a", "", "7050 over the limit of 10000 items and 32 MiB in all"},
		{"b", "", "6050 over the limit of 10000 items and 32 MiB in all"},
	}, l.Left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	fat := []byte(`{"tools":[{"name":"t1"},{"name":"fat","d":"` + strings.Repeat("x", maxBytes) + `"},{"name":"t2"}]}`)
	l = Merge(Tools, []Page{{"a", fat}, {"b", flood(3)}})
	if _, ok := l.Find("a__fat"); ok || len(l.targets) != 4 || len(l.Result) > maxBytes {
		t.Errorf("%d tools in %d bytes", len(l.targets), len(l.Result))
	}
}

func TestShares(t *testing.T) {
	for _, tt := range []struct {
		wanted, want []int
		limit        int
	}{
		{[]int{5, 1, 9}, []int{5, 1, 9}, 15},
		{[]int{5, 1, 9}, []int{4, 1, 5}, 10},
		{[]int{9, 9, 9}, []int{3, 3, 4}, 10},
		{[]int{9, 0}, []int{0, 0}, 0},
		{nil, []int{}, 7},
	} {
		if got := shares(tt.wanted, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("shares(%v, %d) = %v, want %v", tt.wanted, tt.limit, got, tt.want)
		}
	}
}

func TestOwner(t *testing.T) {
	resources := Merge(Resources, pages(
		"db", `{"resources":[{"uri":"db://main/users"}]}`,
		"files", `{"resources":[{"uri":"file:///a"},{"uri":"db://main/special"}]}`))
	templates := Merge(Templates, pages(
		"db", `{"resourceTemplates":[{"uriTemplate":"db://{t}"},{"uriTemplate":"x://same/{a}"}]}`,
		"files", `{"resourceTemplates":[{"uriTemplate":"db://main/{t}"},{"uriTemplate":"x://same/{b}"},{"uriTemplate":"y://fixed"}]}`))
	for uri, want := range map[string]string{
		"db://main/users": "db", "db://main/special": "files", "file:///a": "files", // listed
		"db://other": "db", "db://main/other": "files", // the template that begins most like it
		"x://same/1": "db", "y://fixed": "files",
		"z://nobody": "", "": "", "db:/": "",
	} {
		got, ok := Owner(uri, resources, templates)
		if got.Server != want || ok != (want != "") || ok && got.Item != uri {
			t.Errorf("Owner(%q) = %v %v, want %q", uri, got, ok, want)
		}
	}
	if got, ok := TemplateOwner("db://main/{t}", resources, templates); !ok || got.Server != "files" {
		t.Errorf("TemplateOwner = %v %v", got, ok)
	}
	if got, ok := TemplateOwner("db://main/users", resources, templates); !ok || got.Server != "db" {
		t.Errorf("TemplateOwner of a URI = %v %v", got, ok)
	}
	alone := Merge(Resources, pages("only", ``))
	if got, ok := Owner("z://any", alone, Merge(Templates, nil)); !ok || got != (Target{"only", "z://any", true}) {
		t.Errorf("of the only server: %v %v", got, ok)
	}
}

func TestKindOf(t *testing.T) {
	for _, k := range []Kind{Tools, Prompts, Resources, Templates} {
		if got, ok := KindOf(k.Method()); !ok || got != k || k.Member() == "" {
			t.Errorf("KindOf(%q) = %v %v", k.Method(), got, ok)
		}
	}
	if _, ok := KindOf("tools/call"); ok {
		t.Error("tools/call lists something")
	}
}

// FuzzMerge: whatever a server lists, what is made of it is a list of names that
// are found.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"x"},{"NAME":"y"},{"name":"a\u0000"}]}`))
	f.Add([]byte(`{"tools":[1,{"name":"x","a":{"name":"z"}}]}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		if !json.Valid(result) {
			return
		}
		l := Merge(Tools, []Page{{"a", result}, {"b__", result}})
		var got struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(l.Result, &got); err != nil {
			t.Fatalf("%s became %s: %v", result, l.Result, err)
		}
		for _, tool := range got.Tools {
			if target, ok := l.Find(tool.Name); !ok || Name(target.Server, target.Item) != tool.Name {
				t.Errorf("%s: %q is %v", result, tool.Name, target)
			}
		}
		if len(got.Tools) != len(l.targets) {
			t.Errorf("%s: %d tools, %d names", result, len(got.Tools), len(l.targets))
		}
	})
}

func BenchmarkMerge(b *testing.B) {
	var in []Page
	for s := range 10 {
		var list strings.Builder
		for i := range 50 {
			fmt.Fprintf(&list, `,{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, i, strings.Repeat("d", 300))
		}
		in = append(in, Page{fmt.Sprintf("server%d", s), []byte(`{"tools":[` + list.String()[1:] + `]}`)})
	}
	b.ReportAllocs()
	for b.Loop() {
		Merge(Tools, in)
	}
}

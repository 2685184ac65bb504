package roof

import (
	"regexp"
	"strings"
	"testing"
)

var hosts = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

// TestName holds the names themselves: hosts write them into their settings, so
// they may not change from one version to the next.
func TestName(t *testing.T) {
	tests := []struct{ name, server, item, want string }{
		{"as it is", "gopls", "go_workspace", "gopls__go_workspace"},
		{"a tool may have two underscores", "foo", "bar__baz", "foo__bar__baz"},
		{"a server with two gets a short name", "foo__bar", "baz", "foo_bar_baz_j7nazflrmanw"},
		{"so does one that ends in one", "a_", "b", "a_b_dc4cfwmqsmeh"},
		{"a tool may begin with one", "a", "_b", "a___b"},
		{"what hosts refuse becomes a hyphen", "my.server", "list/all tables", "my-server_list-all-tables_vxnud4y54cam"},
		{"letters of other scripts too", "s", "检索", "s_-_jam2o6nww6rr"},
		{"too long is cut", strings.Repeat("s", 30), strings.Repeat("t", 60), "sssssssssssssss_ttttttttttttttttttttt_wrxo273o7zgo"},
		{"just short enough", "s", strings.Repeat("t", 47), "s__" + strings.Repeat("t", 47)},
		{"just too long", "s", strings.Repeat("t", 48), "s_" + strings.Repeat("t", 35) + "_"},
		{"nothing readable", "_", "_", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Name(tt.server, tt.item)
			if !hosts.MatchString(got) || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNamesOfThePairsThatMeet: report I2, and 300 tools that begin alike (I3).
func TestNamesOfThePairsThatMeet(t *testing.T) {
	pairs := [][2]string{
		{"a_", "b"}, {"a", "_b"}, {"my__srv", "t"}, {"my", "srv__t"}, {"foo", "bar__baz"}, {"foo__bar", "baz"}, {"foo__", "bar"}, {"foo", "__bar"},
		{"a.b", "c"}, {"a-b", "c"}, {"a", "b.c"}, {"a", "b-c"}, {"", "a"}, {"a", ""}, {"ab", "c"}, {"a", "bc"},
		{"foo", "bar_baz_oeadl6a55w7j"}, {"foo_bar_baz_j7nazflrmanw", ""},
	}
	for i := range 300 {
		pairs = append(pairs, [2]string{"s", strings.Repeat("x", 80) + strings.Repeat("y", i)})
	}
	seen := map[string][2]string{}
	for _, p := range pairs {
		name := Name(p[0], p[1])
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", other, p, name)
		}
		if seen[name] = p; !hosts.MatchString(name) {
			t.Errorf("%q is %q", p, name)
		}
	}
}

// FuzzName: no two pairs meet, and every name is one that hosts take.
func FuzzName(f *testing.F) {
	f.Add("foo", "bar__baz", "foo__bar", "baz")
	f.Add("a_", "b", "a", "_b")
	f.Add("a.b", "c", "a", "b.c")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		a, b := Name(s1, t1), Name(s2, t2)
		if !hosts.MatchString(a) || !hosts.MatchString(b) {
			t.Errorf("%q %q", a, b)
		}
		if a == b && (s1 != s2 || t1 != t2) {
			t.Errorf("(%q, %q) and (%q, %q) are both %s", s1, t1, s2, t2, a)
		}
		// The pairs that are most likely to: the same text, split elsewhere.
		whole := s1 + separator + t1
		for i := range whole {
			if rest, ok := strings.CutPrefix(whole[i:], separator); ok && i != len(s1) && Name(whole[:i], rest) == a {
				t.Errorf("(%q, %q) and (%q, %q) are both %s", s1, t1, whole[:i], rest, a)
			}
		}
	})
}

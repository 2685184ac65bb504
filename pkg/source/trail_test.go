package source

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// disk is a file system for trail: a path maps to its link's target, "" for a
// file or a directory.
func disk(links map[string]string, others ...string) func(string) entry {
	return func(path string) entry {
		if target, ok := links[path]; ok {
			return entry{exists: true, link: target}
		}
		return entry{exists: slices.Contains(others, path)}
	}
}

func TestTrailNamesEveryPlaceWhereAChangeShows(t *testing.T) {
	const file = "/home/u/.config/mcpx/config.json"
	dirs := []string{"/home", "/home/u", "/home/u/.config", "/home/u/.config/mcpx"}
	tests := []struct {
		name string
		look func(string) entry
		file string
		want map[string][]string
	}{
		{
			"a plain file, and what it is in below home", disk(nil, append(dirs, file)...), file,
			map[string][]string{"/home/u": {".config"}, "/home/u/.config": {"mcpx"}, "/home/u/.config/mcpx": {"config.json"}},
		},
		{
			"a directory that is missing is waited for", disk(nil, dirs[:2]...), file,
			map[string][]string{"/home/u": {".config"}},
		},
		{
			"a file that is missing is waited for", disk(nil, dirs...), file,
			map[string][]string{"/home/u": {".config"}, "/home/u/.config": {"mcpx"}, "/home/u/.config/mcpx": {"config.json"}},
		},
		{
			"links two deep, relative and absolute",
			disk(map[string]string{file: "../../gen/current/config.json", "/home/u/gen/current": "/var/gens/42"},
				append(dirs, "/home/u/gen", "/var", "/var/gens", "/var/gens/42", "/var/gens/42/config.json")...), file,
			map[string][]string{
				"/home/u": {".config", "gen"}, "/home/u/.config": {"mcpx"}, "/home/u/.config/mcpx": {"config.json"},
				"/home/u/gen": {"current"}, "/var": {"gens"}, "/var/gens": {"42"}, "/var/gens/42": {"config.json"},
			},
		},
		{
			"a directory that is a link",
			disk(map[string]string{"/home/u/.config": "dots"}, "/home", "/home/u", "/home/u/dots", "/home/u/dots/mcpx", "/home/u/dots/mcpx/config.json"), file,
			map[string][]string{"/home/u": {".config", "dots"}, "/home/u/dots": {"mcpx"}, "/home/u/dots/mcpx": {"config.json"}},
		},
		{
			"nothing in a store",
			disk(map[string]string{file: "/nix/store/abc-files/config.json", "/nix/store/abc-files": "def-other"},
				append(dirs, "/nix", "/nix/store", "/nix/store/def-other")...), file,
			map[string][]string{"/home/u": {".config"}, "/home/u/.config": {"mcpx"}, "/home/u/.config/mcpx": {"config.json"}, "/nix": {"store"}},
		},
		{
			"a link to nothing is waited for where it points",
			disk(map[string]string{file: "/mnt/usb/config.json"}, append(dirs, "/mnt")...), file,
			map[string][]string{"/home/u": {".config"}, "/home/u/.config": {"mcpx"}, "/home/u/.config/mcpx": {"config.json"}, "/mnt": {"usb"}},
		},
		{
			"a loop of links ends", disk(map[string]string{"/home/u/a": "b", "/home/u/b": "a"}, "/home", "/home/u"), "/home/u/a",
			map[string][]string{"/home/u": {"a", "b"}},
		},
		{
			"outside home only what is above home is left out", disk(nil, "/srv", "/srv/x"), "/srv/x/.mcpx.json",
			map[string][]string{"/srv": {"x"}, "/srv/x": {".mcpx.json"}},
		},
		{
			"a file at the top", disk(nil), "/.mcpx.json",
			map[string][]string{"/": {".mcpx.json"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string][]string{}
			for dir, names := range trail([]string{tt.file}, "/home/u", tt.look) {
				got[dir] = slices.Sorted(maps.Keys(names))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the links are, the way is walked to an end and stays small.
func FuzzTrail(f *testing.F) {
	f.Add("/a/b/c", "/a/b", "../x/./y")
	f.Add("/a", "/a", "/a/a/a")
	f.Fuzz(func(t *testing.T, file, at, target string) {
		look := func(path string) entry {
			if path == at {
				return entry{exists: true, link: target}
			}
			return entry{exists: true}
		}
		most := len(parts(file)) + (maxLinks+1)*len(parts(target))
		if got := len(trail([]string{file}, "/home/u", look)); got > most+1 {
			t.Errorf("%d directories for %q with %q → %q, more than %d", got, file, at, target, most)
		}
	})
}

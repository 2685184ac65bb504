package child

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dezren39/mcpx/pkg/config"
	"github.com/dezren39/mcpx/pkg/spawn"
)

// hostile is the environment of a daemon that a host in a git hook started.
var hostile = []string{
	"HOME=/home/me", "PATH=/usr/bin", "LANG=C.UTF-8", "TMPDIR=/tmp/me", "USER=me", "EDITOR=vi", "EMPTY=",
	"PWD=/elsewhere", "OLDPWD=/before", "_=/usr/bin/claude",
	"GIT_DIR=/x/.git", "GIT_WORK_TREE=/x", "GIT_INDEX_FILE=/x/i", "GIT_COMMON_DIR=/x", "GIT_OBJECT_DIRECTORY=/x",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES=/x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_PARAMETERS='a'",
	"GIT_PREFIX=sub/", "GIT_NAMESPACE=n", "GIT_SSH_COMMAND=evil",
	"LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/evil", "DYLD_INSERT_LIBRARIES=/evil", "NODE_OPTIONS=--require /evil",
	"PYTHONPATH=/evil", "PYTHONSTARTUP=/evil", "PERL5LIB=/evil", "PERL5OPT=-M", "RUBYOPT=-r/evil", "BASH_ENV=/evil",
	"MCPX_INSTANCE=of another", "MCPX_SESSION_ID=s", "MCPX_CONFIG=/x",
	"malformed", "=odd",
}

func TestEnviron(t *testing.T) {
	tests := []struct {
		name    string
		base    []string
		plan    spawn.Plan
		secrets map[string]string
		marker  string
		want    []string
	}{
		{
			"inherit leaves out what belongs to the daemon's starter",
			hostile, spawn.Plan{EnvPolicy: config.Inherit}, nil, "m.1",
			[]string{"EDITOR=vi", "EMPTY=", "HOME=/home/me", "LANG=C.UTF-8", "MCPX_INSTANCE=m.1", "PATH=/usr/bin", "PWD=/desk/tree", "TMPDIR=/tmp/me", "USER=me"},
		},
		{
			"no policy is inherit",
			[]string{"EDITOR=vi", "LD_PRELOAD=/evil.so"}, spawn.Plan{}, nil, "",
			[]string{"EDITOR=vi", "HOME=/home/base", "PWD=/desk/tree"},
		},
		{
			"clean keeps four names",
			hostile, spawn.Plan{EnvPolicy: config.Clean}, nil, "m.1",
			[]string{"HOME=/home/me", "LANG=C.UTF-8", "MCPX_INSTANCE=m.1", "PATH=/usr/bin", "PWD=/desk/tree", "TMPDIR=/tmp/me"},
		},
		{
			"the config may set what the base may not pass on",
			hostile, spawn.Plan{EnvPolicy: config.Clean, Env: map[string]string{"LD_PRELOAD": "/mine.so", "GIT_DIR": "/mine", "PATH": "/opt/t"}}, nil, "",
			[]string{"GIT_DIR=/mine", "HOME=/home/me", "LANG=C.UTF-8", "LD_PRELOAD=/mine.so", "PATH=/opt/t", "PWD=/desk/tree", "TMPDIR=/tmp/me"},
		},
		{
			"a secret stands above the config, the directory and the mark above all",
			nil, spawn.Plan{Env: map[string]string{"TOKEN": "literal", "PWD": "/lie", "MCPX_INSTANCE": "lie"}},
			map[string]string{"TOKEN": "s3cret"}, "m.2",
			[]string{"HOME=/home/base", "MCPX_INSTANCE=m.2", "PWD=/desk/tree", "TOKEN=s3cret"},
		},
		{
			"of two equal names the last counts",
			[]string{"A=1", "A=2"}, spawn.Plan{}, nil, "",
			[]string{"A=2", "HOME=/home/base", "PWD=/desk/tree"},
		},
		{
			"a value is taken whole",
			[]string{"A=b=c\nd"}, spawn.Plan{}, nil, "",
			[]string{"A=b=c\nd", "HOME=/home/base", "PWD=/desk/tree"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Environ(tt.base, tt.plan, tt.secrets, "/home/base", "/desk/tree", tt.marker)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Environ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChildHasNoRepositoryOfItsParent(t *testing.T) {
	t.Setenv("GIT_DIR", "/somebody/elses/.git")
	t.Setenv("MCPX_INSTANCE", "of another")
	t.Setenv("SEEN", "yes")
	o := options(t)
	env := factsOf(t, plan("report"), o).Env
	if got := Value(env, "SEEN"); got != "yes" {
		t.Errorf("SEEN: got %q, want it inherited", got)
	}
	if got := Value(env, "GIT_DIR"); got != "" {
		t.Errorf("GIT_DIR: got %q, want none", got)
	}
	if got := Value(env, "MCPX_INSTANCE"); got != o.Marker {
		t.Errorf("MCPX_INSTANCE: got %q, want %q", got, o.Marker)
	}
}

func TestChildHasTheNamesOfThePlanOnly(t *testing.T) {
	p := plan("report")
	p.EnvPolicy = config.Clean
	o := options(t)
	o.Base = func(context.Context) ([]string, error) { return hostile, nil }
	var names []string
	for _, entry := range factsOf(t, p, o).Env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	want := []string{"CHILD_TEST_ROLE", "GORACE", "HOME", "LANG", "MCPX_INSTANCE", "PATH", "PWD", "TMPDIR"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names in the child (-want +got):\n%s", diff)
	}
}

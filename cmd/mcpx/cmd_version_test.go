package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionPrefersTheLinkers(t *testing.T) {
	module := &debug.BuildInfo{
		Main:     debug.Module{Version: "v0.3.0"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	}
	tests := []struct {
		name, linked, version, id string
		info                      *debug.BuildInfo
	}{
		{"the linker's", "0.4.0", "0.4.0", "0.4.0+0123456789ab-dirty", module},
		{"else the module's", "", "v0.3.0", "v0.3.0+0123456789ab-dirty", module},
		{"else none", "", "(devel)", "(devel)", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := buildVersion(tt.linked, tt.info); got != tt.version {
				t.Errorf("version %q, want %q", got, tt.version)
			}
			if got := buildID(tt.linked, tt.info); got != tt.id {
				t.Errorf("build %q, want %q", got, tt.id)
			}
		})
	}
}

package config

import "testing"

func TestAllowsTool(t *testing.T) {
	tests := []struct {
		name           string
		tools, exclude []string
		tool           string
		want           bool
	}{
		{"everything, when nothing is said", nil, nil, "any", true},
		{"nothing, when the list is empty", []string{}, nil, "any", false},
		{"a name matches itself", []string{"git_log"}, nil, "git_log", true},
		{"a name matches nothing else", []string{"git_log"}, nil, "git_logs", false},
		{"a glob spans", []string{"git_*"}, nil, "git_log", true},
		{"a glob spans a slash", []string{"git*log"}, nil, "git/a/log", true},
		{"a glob's slash is a slash", []string{"git/*"}, nil, "git.log", false},
		{"a glob is anchored", []string{"it_*"}, nil, "git_log", false},
		{"a question mark is one character", []string{"a?"}, nil, "aß", true},
		{"a class", []string{"[a-c]x"}, nil, "bx", true},
		{"an escaped star is a star", []string{`a\*`}, nil, "ab", false},
		{"a regular expression is not anchored", []string{"/log|show/"}, nil, "git_show", true},
		{"a regular expression that anchors itself", []string{"/^log/"}, nil, "git_log", false},
		{"a single slash is a name", []string{"/"}, nil, "/", true},
		{"excludeTools alone", nil, []string{"*_write"}, "file_write", false},
		{"excludeTools wins", []string{"file_*"}, []string{"file_write"}, "file_write", false},
		{"excludeTools leaves the rest", []string{"file_*"}, []string{"file_write"}, "file_read", true},
		{"a broken pattern lets nothing in", []string{"["}, nil, "[", false},
		{"a broken exclusion lets nothing through", nil, []string{"["}, "any", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Resolved{Tools: tt.tools, ExcludeTools: tt.exclude}
			if got := r.AllowsTool(tt.tool); got != tt.want {
				t.Errorf("tools %q, excludeTools %q: AllowsTool(%q) = %v, want %v", tt.tools, tt.exclude, tt.tool, got, tt.want)
			}
		})
	}
}

package scope

import "testing"

func TestUnder(t *testing.T) {
	tests := []struct {
		name, dir, root string
		want            bool
	}{
		{"a directory is under itself", "/ws/proj", "/ws/proj", true},
		{"a child is under", "/ws/proj/a/b", "/ws/proj", true},
		{"a sibling with the same beginning is not", "/ws/project", "/ws/proj", false},
		{"a parent is not", "/ws", "/ws/proj", false},
		{"everything is under /", "/ws", "/", true},
		{"/ is under /", "/", "/", true},
		{"/ is under nothing else", "/", "/ws", false},
		{"nothing is under the empty root", "/ws", "", false},
		{"the empty directory is under nothing", "", "/", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Under(tt.dir, tt.root); got != tt.want {
				t.Errorf("Under(%q, %q): got %v, want %v", tt.dir, tt.root, got, tt.want)
			}
		})
	}
}

package scope

import "strings"

// Under reports whether dir is root or below it, at a separator: /ws/project is
// not under /ws/proj. Both must be canonical; "" is under nothing. It lives
// here so that pure packages and canon share the one comparison (design D2).
func Under(dir, root string) bool {
	if dir == "" || root == "" {
		return false
	}
	if dir == root {
		return true
	}
	return strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
}

package config

import "strings"

// DidYouMean is the known word that name is most likely a slip of, "" when
// none is near: a third of its length, but two slips at most, and no more than
// half of what was written.
func DidYouMean(name string, known []string) string {
	best, nearest := "", 3
	for _, k := range known {
		limit := min(2, max(1, len(k)/3), len(name)/2)
		if n := slips(strings.ToLower(name), strings.ToLower(k)); n <= limit && n < nearest {
			best, nearest = k, n
		}
	}
	return best
}

// slips counts the letters inserted, left out, replaced or swapped with their
// neighbour between two words.
func slips(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	var before, last []int // the two rows above the current one
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// hintFor turns a guess into a hint, and offers the whole list without one.
func hintFor(name string, known []string) string {
	if k := DidYouMean(name, known); k != "" {
		return "did you mean " + k + "?"
	}
	return "known here: " + strings.Join(known, ", ")
}

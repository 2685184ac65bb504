package capsule

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNothingIsLostOverManyDeaths writes thousands of lines through daemons that
// die at any moment, with lines answered in any order, and wants each line
// handed out again until it is closed, and never after.
func TestNothingIsLostOverManyDeaths(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	f := newFile(t)
	r, w := io.Pipe()
	const total = 4000
	sizes := make([]int, total)
	for i := range sizes {
		sizes[i] = rnd.IntN(2000)
	}
	go func() {
		for i, n := range sizes {
			fmt.Fprintf(w, "%d %s\n", i, strings.Repeat("z", n))
		}
		w.Close()
	}()
	closed, seen := map[int]bool{}, map[int]bool{}
	for ended := false; !ended; {
		ended = life(t, open(t, f, r), rnd, closed, seen)
	}
	if len(closed) != total {
		t.Errorf("%d of %d lines were closed", len(closed), total)
	}
}

// life is one daemon's: it reads some lines, closes some of those, and dies. It
// is true when the host's input has ended and all is closed.
func life(t *testing.T, c *Capsule, rnd *rand.Rand, closed, seen map[int]bool) bool {
	defer c.Close()
	live := map[int]int64{}
	end := func(n int) {
		c.Done(live[n])
		closed[n] = true
		delete(live, n)
	}
	for range 1 + rnd.IntN(200) {
		l, err := c.Next()
		if err == io.EOF {
			for n := range live {
				end(n)
			}
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscan(string(l.Bytes), &n); err != nil {
			t.Fatalf("a broken line: %.40q: %v", l.Bytes, err)
		}
		if closed[n] {
			t.Fatalf("line %d came again after it was closed", n)
		}
		if l.Replayed != seen[n] {
			t.Fatalf("line %d: replayed %v, seen before %v", n, l.Replayed, seen[n])
		}
		seen[n], live[n] = true, l.Mark
		if rnd.IntN(4) > 0 {
			for any := range live {
				end(any)
				break
			}
		}
	}
	return false
}

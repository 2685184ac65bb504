package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// width is what the tables fit into, in columns.
const width = 100

// tone is the colour of a cell, as an SGR parameter.
type tone string

const (
	plain  tone = ""
	dim    tone = "2"
	red    tone = "31"
	green  tone = "32"
	yellow tone = "33"
)

// cell is one field of a table.
type cell struct {
	text string
	tone tone
}

// row makes a row of plain cells.
func row(texts ...string) []cell {
	cells := make([]cell, len(texts))
	for i, t := range texts {
		cells[i] = cell{text: t}
	}
	return cells
}

// table is rows under a heading. The last cell of a row does not widen its
// column, so a note may hang over. Column flex gives way, from its left, when
// the rest would not fit: it is the one with paths.
type table struct {
	rows  [][]cell
	right map[int]bool // columns of numbers
	flex  int          // -1: none
	fit   int          // columns into which the last cells are cut; 0: they may hang over
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// print writes the table. Cleaning comes before measuring: an escape is wider
// than what it stands for.
func (p printer) table(t table) {
	for _, r := range t.rows {
		for i := range r {
			r[i].text = p.clean(r[i].text)
		}
	}
	widths := t.widths()
	for _, r := range t.rows {
		var b strings.Builder
		for i, c := range r {
			text := c.text
			switch {
			case i == t.flex:
				text = p.shorten(text, widths[i])
			case t.fit > 0 && i == len(widths)-1:
				text = p.cut(text, max(12, t.fit-used(widths[:i])))
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			text = p.paint(c.tone, text)
			switch {
			case t.right[i]:
				text = pad + text
			case i < len(r)-1:
				text += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(text)
		}
		io.WriteString(p.w, strings.TrimRight(b.String(), " ")+"\n")
	}
}

func (t *table) widths() []int {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(r)-1 || t.right[i] {
				widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
			}
		}
	}
	if t.flex < 0 || t.flex >= len(widths) {
		return widths
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total > width {
		widths[t.flex] = max(12, widths[t.flex]-(total-width))
	}
	return widths
}

func (p printer) shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	mark := "…"
	if !p.utf8 {
		mark = "..."
	}
	return mark + string(r[len(r)-n+utf8.RuneCountInString(mark):])
}

// used is the space that columns take, with what parts them from the next.
func used(widths []int) int {
	n := 0
	for _, w := range widths {
		n += w + 2
	}
	return n
}

// cut keeps the beginning.
func (p printer) cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	mark := p.clean("…")
	return string(r[:max(0, n-utf8.RuneCountInString(mark))]) + mark
}

func (p printer) paint(t tone, s string) string {
	if !p.colour || t == plain || s == "" {
		return s
	}
	return "\x1b[" + string(t) + "m" + s + "\x1b[0m"
}

// ago is a duration in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours()/24))
}

// thousands groups the digits of n.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural counts things: "1 server", "2 servers".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + many
}

// tilde writes a path below home the short way.
func tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

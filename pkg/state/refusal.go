package state

import "fmt"

// Refusal is a file or directory that state will not vouch for.
type Refusal struct {
	Path string
	Msg  string

	hint    string
	damaged bool // ours, but not readable as an envelope
}

func (r *Refusal) Error() string { return r.Path + ": " + r.Msg }

// Hint says what to do about it.
func (r *Refusal) Hint() string { return r.hint }

func (d *Dir) otherFormat(name string, have, want int) error {
	return &Refusal{
		Path: d.file(name),
		Msg:  fmt.Sprintf("written in format %d, and this mcpx reads %d", have, want),
		hint: "use the mcpx that wrote it, or move the file away",
	}
}

func (d *Dir) damaged(name string, err error) error {
	return &Refusal{Path: d.file(name), Msg: err.Error(), hint: "move the file away", damaged: true}
}

package capsule

import "golang.org/x/sys/unix"

// punch gives back the whole pages between what was given back already and
// before, and leaves zeros. Needs c.mu.
func (c *Capsule) punch(before int64) error {
	before &^= c.page - 1
	if before <= c.punched {
		return nil
	}
	err := unix.Fallocate(int(c.f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, c.punched, before-c.punched)
	if err == nil {
		c.punched = before
	}
	return err
}

//go:build !linux

package capsule

// punch writes zeros: the file's pages are not given back here.
func (c *Capsule) punch(before int64) error {
	before &^= c.page - 1
	zeros := make([]byte, 64<<10)
	for c.punched < before {
		n := min(before-c.punched, int64(len(zeros)))
		if _, err := c.f.WriteAt(zeros[:n], c.punched); err != nil {
			return err
		}
		c.punched += n
	}
	return nil
}

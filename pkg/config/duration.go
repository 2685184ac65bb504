package config

import (
	"fmt"
	"strings"
	"time"
)

// Duration is a positive length of time, written like "90s".
type Duration time.Duration

// DurationOrNever is a Duration that may also be "never", which is 0.
type DurationOrNever time.Duration

// MarshalText writes the shortest form: "5m", not "5m0s".
func (d Duration) MarshalText() ([]byte, error) {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return []byte(s), nil
}

// MarshalText writes "never" for 0, else what Duration writes.
func (d DurationOrNever) MarshalText() ([]byte, error) {
	if d == 0 {
		return []byte("never"), nil
	}
	return Duration(d).MarshalText()
}

func (d *Duration) parse(s string) *fault {
	t, f := parseDuration(s)
	*d = Duration(t)
	return f
}

func (d *DurationOrNever) parse(s string) *fault {
	if s == "never" {
		return nil
	}
	t, f := parseDuration(s)
	*d = DurationOrNever(t)
	if f != nil {
		f.hint += `, or "never"`
	}
	return f
}

func parseDuration(s string) (time.Duration, *fault) {
	const hint = `write a number and a unit, such as "90s" or "5m"`
	t, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, &fault{msg: fmt.Sprintf("%q is not a duration", s), hint: hint}
	case t <= 0:
		return 0, &fault{msg: fmt.Sprintf("%q is not more than nothing", s), hint: hint}
	}
	return t, nil
}

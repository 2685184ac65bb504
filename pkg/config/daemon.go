package config

import "time"

// mergeDaemon joins the daemon blocks key by key, nearest first. http is one
// key: an address of one file never meets another's auth.
func mergeDaemon(files []*File) Daemon {
	d := Daemon{
		MaxInstances: nearest(files, func(b *RawDaemon) *int { return b.MaxInstances }, 64),
		MaxStarts:    nearest(files, func(b *RawDaemon) *int { return b.MaxStarts }, 4),
		StopGrace:    time.Duration(nearest(files, func(b *RawDaemon) *Duration { return b.StopGrace }, Duration(5*time.Second))),
		IdleExit:     time.Duration(nearest(files, func(b *RawDaemon) *DurationOrNever { return b.IdleExit }, DurationOrNever(10*time.Minute))),
		RootsCeiling: nearest(files, func(b *RawDaemon) *[]string { return some(b.RootsCeiling) }, nil),
		Approve:      nearest(files, func(b *RawDaemon) *Approve { return b.Approve }, ApprovePerson),

		ManagementTools: nearest(files, func(b *RawDaemon) *[]ManagementTool { return some(b.ManagementTools) }, nil),
		Path:            nearest(files, func(b *RawDaemon) *[]string { return some(b.Path) }, nil),
		Env: nearest(files, func(b *RawDaemon) *map[string]string {
			if b.Env == nil {
				return nil
			}
			return &b.Env
		}, nil),
		Rules: mergeRules(files),
	}
	if h := nearest(files, func(b *RawDaemon) **RawHTTP {
		if b.HTTP == nil {
			return nil
		}
		return &b.HTTP
	}, nil); h != nil {
		d.HTTP = &HTTP{Listen: h.Listen, Auth: "token"}
		if h.Auth != nil {
			d.HTTP.Auth = string(*h.Auth)
		}
	}
	return d
}

func mergeRules(files []*File) Rules {
	return Rules{
		Path:                   nearestRule(files, func(r *RawRules) *string { return r.Path }, ""),
		OnError:                string(nearestRule(files, func(r *RawRules) *OnError { return r.OnError }, "open")),
		ApplyToRunningSessions: nearestRule(files, func(r *RawRules) *bool { return r.ApplyToRunningSessions }, true),
		LogDecisions:           nearestRule(files, func(r *RawRules) *bool { return r.LogDecisions }, true),
	}
}

func nearest[T any](files []*File, get func(*RawDaemon) *T, builtIn T) T {
	for _, f := range files {
		if f.daemon == nil {
			continue
		}
		if v := get(f.daemon); v != nil {
			return *v
		}
	}
	return builtIn
}

func nearestRule[T any](files []*File, get func(*RawRules) *T, builtIn T) T {
	return nearest(files, func(b *RawDaemon) *T {
		if b.Rules == nil {
			return nil
		}
		return get(b.Rules)
	}, builtIn)
}

package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// version is set by the linker: -ldflags "-X main.version=0.3.0".
var version string

// buildVersion is the linker's version, else the module's.
func buildVersion(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info != nil && info.Main.Version != "":
		return info.Main.Version
	}
	return "(devel)"
}

// buildID tells two builds of one version apart: version and commit.
func buildID(linked string, info *debug.BuildInfo) string {
	id := buildVersion(linked, info)
	if info == nil {
		return id
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id += "+" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			id += "-dirty"
		}
	}
	return id
}

// build is the version and the build of this very program.
func build() (ver, id string) {
	info, _ := debug.ReadBuildInfo()
	return buildVersion(version, info), buildID(version, info)
}

func versionCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "show the version", Category: look, Description: "mcpx version",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, c *cli.Command) error {
			if err := takes(c, 0, 0); err != nil {
				return err
			}
			v := versionInfo{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			v.Version, v.Build = build()
			if c.Bool("json") {
				return p.out().json(v)
			}
			p.out().line("mcpx %s %s %s", v.Version, v.Go, v.Platform)
			return nil
		},
	}
}

type versionInfo struct {
	Version  string `json:"version"`
	Build    string `json:"build"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

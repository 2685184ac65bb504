package fake

import (
	"flag"
	"io"
	"time"
)

// faults are what the flags ask for.
type faults struct {
	log, record, name, state      string
	faulty, firstCalls            int
	crashStart                    bool
	exitCode, crashTimes          int
	startDelay, initDelay         time.Duration
	hangInit, initError           bool
	discover, protocol            string
	modernOnly                    bool
	strictInitialize, strictCaps  bool
	garbage, banner, blank, split bool
	byByte, badLine, endlessLine  bool
	storm                         string
	nonl, batch, pretty, early    bool
	errFlood, errEach             int
	double, wrongID, stringID     bool
	nullResult, reuseIDs          bool
	progressLate                  bool
	listStorm, pageSize           int
	manyTools                     int
	endlessPages, promptsOnly     bool
	changeTools, badSchema        bool
	toolsFile                     string
	dieOnCall                     bool
	dieAfter                      int
	halfLine, hangCall            bool
	ignoreEOF, ignoreTerm         bool
	closeStdout, stopReading      bool
	slowRead                      bool
	child, childSetsid, wrap      bool
	rootsReplace                  bool
	lockfile                      string
	stateful                      bool
	askMethod                     string
	askCancel                     time.Duration

	dirsGiven []string // allowed directories: of -dirs, and the arguments after the flags
}

func parseFaults(args []string, errOut io.Writer) (faults, error) {
	var f faults
	fs := f.flags()
	fs.SetOutput(errOut)
	err := fs.Parse(args)
	f.dirsGiven = append(f.dirsGiven, fs.Args()...)
	return f, err
}

func (f *faults) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("fakemcp", flag.ContinueOnError)
	f.observing(fs)
	f.starting(fs)
	f.talking(fs)
	f.listing(fs)
	f.living(fs)
	return fs
}

// Switches are the names of all flags, so that a test can tell that it uses each.
func Switches() (names []string) {
	new(faults).flags().VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}

// good is the same server without its faults.
func (f faults) good() faults {
	return faults{log: f.log, record: f.record, name: f.name, discover: "error"}
}

func (f *faults) observing(fs *flag.FlagSet) {
	fs.StringVar(&f.log, "log", "", "append one JSON line per event to this `file`")
	fs.StringVar(&f.record, "record", "", "append every line read, byte for byte, to this `file`")
	fs.StringVar(&f.name, "name", "fakemcp", "serverInfo.name")
	fs.StringVar(&f.state, "state", "", "`file` that counts the starts")
	fs.IntVar(&f.faulty, "faulty", 0, "have faults in the first `N` starts only (counted in -state)")
	fs.IntVar(&f.firstCalls, "first-calls", 0, "have the faults of answering in the first `N` tools/call only")
}

func (f *faults) starting(fs *flag.FlagSet) {
	fs.BoolVar(&f.crashStart, "crash-start", false, "exit 3 at once, with a line on stderr")
	fs.IntVar(&f.exitCode, "exit", 0, "exit with this `status` at once, silently")
	fs.IntVar(&f.crashTimes, "crash-times", 0, "crash at start `N` times, then work (counted in -state)")
	fs.DurationVar(&f.startDelay, "start-delay", 0, "sleep before reading stdin")
	fs.StringVar(&f.lockfile, "lockfile", "", "lock this `file` for life; exit 5 when another has it")
	fs.BoolVar(&f.hangInit, "hang-init", false, "never answer initialize")
	fs.DurationVar(&f.initDelay, "init-delay", 0, "answer initialize late")
	fs.BoolVar(&f.initError, "init-error", false, "answer initialize with an error")
	fs.BoolVar(&f.strictInitialize, "strict-initialize", false, "-32602 for members of initialize that MCP does not have")
	fs.BoolVar(&f.strictCaps, "strict-capabilities", false, "-32602 for client capabilities that MCP does not have")
	fs.StringVar(&f.discover, "discover", "error", "answer to server/discover: error, zero (code 0), another code, silent, exit, modern")
	fs.StringVar(&f.protocol, "protocol", "", "answer initialize with this `version`, whatever was asked")
	fs.BoolVar(&f.modernOnly, "modern-only", false, "refuse initialize; speak 2026-07-28 alone")
}

func (f *faults) talking(fs *flag.FlagSet) {
	fs.BoolVar(&f.garbage, "garbage", false, "non-JSON lines on stdout before every message")
	fs.BoolVar(&f.banner, "banner", false, "one banner line on stdout before anything")
	fs.BoolVar(&f.blank, "blank", false, "blank lines and CRLF line ends")
	fs.BoolVar(&f.split, "split", false, "write in 7-byte pieces, 1 ms apart")
	fs.BoolVar(&f.byByte, "byte-by-byte", false, "write each byte by itself")
	fs.BoolVar(&f.badLine, "bad-line", false, "tools/call answered with two results in one message, and then with noise")
	fs.BoolVar(&f.endlessLine, "endless-line", false, "tools/call answered with a line that has no end")
	fs.BoolVar(&f.nonl, "nonl", false, "the answer to tools/call lacks its newline, and is the last")
	fs.BoolVar(&f.batch, "batch", false, "answers wrapped in JSON arrays")
	fs.BoolVar(&f.pretty, "pretty", false, "answers indented over many lines (against the spec)")
	fs.BoolVar(&f.early, "early", false, "a notification and a request before initialize is answered")
	fs.IntVar(&f.errFlood, "stderr-flood", 0, "`MiB` to stderr at start")
	fs.IntVar(&f.errEach, "stderr-each", 0, "`KiB` to stderr before every answer")
	fs.BoolVar(&f.double, "double", false, "every tools/call answered twice")
	fs.BoolVar(&f.wrongID, "wrong-id", false, "tools/call answered under an id never asked")
	fs.BoolVar(&f.stringID, "string-id", false, "ids echoed as strings")
	fs.BoolVar(&f.nullResult, "null-result", false, `tools/call answered with "result": null`)
	fs.BoolVar(&f.reuseIDs, "reuse-ids", false, "own requests use ids 1, 2, 3 … (else 7001 …, or \"ask-1\" … of -ask)")
	fs.BoolVar(&f.progressLate, "progress-late", false, "progress after the answer, also for an invented token")
	fs.StringVar(&f.askMethod, "ask", "", "adds tool ask, which sends this `method` and answers with the client's line")
	fs.DurationVar(&f.askCancel, "ask-cancel", 0, "tool ask takes its question back after this `time`")
	fs.StringVar(&f.storm, "storm", "", "adds tool storm, which repeats this `method` for ms, as a request unless it is a notification, or a line on stderr if it is \"stderr\"")
}

func (f *faults) listing(fs *flag.FlagSet) {
	fs.IntVar(&f.listStorm, "list-storm", 0, "`N` tools/list_changed after initialized")
	fs.IntVar(&f.pageSize, "page-size", 0, "tools/list in pages of `N`")
	fs.StringVar(&f.toolsFile, "tools", "", "list the tools in this `file` (a JSON array, read each time)")
	fs.BoolVar(&f.endlessPages, "endless-pages", false, "each page of tools/list names a next one")
	fs.IntVar(&f.manyTools, "many-tools", 0, "`N` tools more")
	fs.BoolVar(&f.promptsOnly, "prompts-only", false, "prompts, and no tools")
	fs.BoolVar(&f.changeTools, "change-tools", false, "another tool list each time")
	fs.BoolVar(&f.badSchema, "bad-schema", false, "a tool whose name and schema break strict readers")
	fs.Func("dirs", "an allowed `directory`, as are the arguments after the flags; adds tool dirs", func(dir string) error {
		f.dirsGiven = append(f.dirsGiven, dir)
		return nil
	})
	fs.BoolVar(&f.rootsReplace, "roots-replace", false, "the client's roots replace the allowed directories")
	fs.BoolVar(&f.stateful, "stateful", false, "adds tools set and get, of state in the process")
}

func (f *faults) living(fs *flag.FlagSet) {
	fs.BoolVar(&f.dieOnCall, "die-on-call", false, "exit 9 on the first tools/call, unanswered")
	fs.IntVar(&f.dieAfter, "die-after", 0, "exit 9 on the `N`th tools/call, unanswered")
	fs.BoolVar(&f.halfLine, "half-line", false, "die in the middle of a line (with -die-*)")
	fs.BoolVar(&f.hangCall, "hang-call", false, "never answer tools/call")
	fs.BoolVar(&f.ignoreEOF, "ignore-eof", false, "stay alive after the end of stdin")
	fs.BoolVar(&f.ignoreTerm, "ignore-term", false, "ignore SIGTERM, SIGINT and SIGHUP")
	fs.BoolVar(&f.closeStdout, "close-stdout", false, "close stdout after initialized, stay alive")
	fs.BoolVar(&f.stopReading, "stop-reading", false, "stop reading stdin after initialized")
	fs.BoolVar(&f.slowRead, "slow-read", false, "read 1 KiB of stdin every 10 ms")
	fs.BoolVar(&f.child, "child", false, "start a grandchild in our group that keeps our stdout open")
	fs.BoolVar(&f.childSetsid, "child-setsid", false, "the same, in a session of its own")
	fs.BoolVar(&f.wrap, "wrap", false, "like npx: run ourselves as a child with the other flags")
}

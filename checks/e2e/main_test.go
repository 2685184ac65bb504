// Package e2e tests the built mcpx as its users meet it: real daemons, real
// connects, real servers that are good or bad on purpose.
//
// Record 0004, rule by rule, and the tests that hold it, those on pure functions
// first:
//
//	§1  one resolution path; Key is Resolve().Key    scope TestResolve
//	§1  the root of each scope                       scope TestResolve; TestRecordSpawnCwd
//	§1  the root is a function of the key            scope TestResolveRootIsAFunctionOfTheKey; TestRecordLinkedWorktreesShareARepoServer
//	§2  a restart keeps the root, and the creator    registry TestARestartKeepsTheDirectoryOfTheCreator; TestRecordARestartKeepsTheRoot
//	§3  explicit cwd, else root, else the daemon's   spawn TestSpawnCwdDecision, TestSpawnCwd; TestRecordSpawnCwd
//	§3  a remote has no directory                    spawn TestSpawnCwd, TestNewPlanRemote
//	§4  ${mcpx.root}, ${mcpx.cwd} in args, env, cwd  spawn TestNewPlanSubstitutes; TestRecordPlaceholdersAreSubstitutedAtSpawnOnly
//	§4  every other ${…} passes verbatim             config TestExpand, FuzzExpand; TestRecordPlaceholdersAreSubstitutedAtSpawnOnly
//	§4  mcpx config keeps showing them               TestRecordPlaceholdersAreSubstitutedAtSpawnOnly
//	§4  unknown ones are errors at load              config TestCheckPlaceholdersHintsAtWhatWasMeant; TestRecordPlaceholderErrorsNameServerAndField
//	§4  an empty root fails the spawn, named         spawn TestSpawnCwdRefuses; TestRecordPlaceholderErrorsNameServerAndField
//	§4  two roots never share an era record          spawn TestIdentityOfTwoRoots; registry TestErasTwoRootsNeverShareAnEntry; TestRecordTwoRootsNeverShareAnEra
//	§5  rootUri, workspaceFolders, the capability    spawn TestWorkspaceBytes; TestRecordInitializeTellsTheWorkspace
//	§5  without a root, byte for byte as without it  spawn TestWorkspaceBytes; TestRecordGlobalSendsNothing
//	§6  one line in the log for each spawn           registry TestSessionsShareOneProcessInTheRightDirectory; TestRecordSpawnCwd
//	§6  status has the root                          TestRecordSpawnCwd
//	§9  a vanished root fails, nothing starts        registry TestAVanishedRootFailsTheStart; TestRecordAVanishedRootFailsTheStart
//	§9  a degraded key has the degraded root, told   scope TestResolve; registry TestDegradedScopeIsLoggedOnce; TestRecordSpawnCwd
//	§9  errors name server and field                 spawn TestSpawnCwdRefuses; TestRecordPlaceholderErrorsNameServerAndField
package e2e

import (
	"os"
	"testing"

	"github.com/dezren39/mcpx/checks/rig"
)

// The programs under test, built once.
var mcpx, fakemcp string

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "mirror" {
		os.Exit(mirror(os.Args[2], os.Args[3], false))
	}
	if len(os.Args) > 3 && os.Args[1] == "brief" {
		os.Exit(mirror(os.Args[2], os.Args[3], true))
	}
	if len(os.Args) > 1 && os.Args[1] == "sdk" {
		os.Exit(sdkServer())
	}
	if len(os.Args) > 2 && os.Args[1] == "rich" {
		os.Exit(richServer(os.Args[2]))
	}
	os.Exit(rig.Main(m, func(_ string, bins []string) error {
		mcpx, fakemcp = bins[0], bins[1]
		return nil
	}, "github.com/dezren39/mcpx/cmd/mcpx", "github.com/dezren39/mcpx/checks/fakemcp"))
}

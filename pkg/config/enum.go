package config

import (
	"reflect"

	"github.com/dezren39/mcpx/pkg/scope"
)

// allowed are the words a type may hold, in the order people should read them;
// nil for types that are not an enumeration.
func allowed(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[scope.Scope]():
		return words(scope.Global, scope.Repo, scope.Worktree, scope.Cwd,
			scope.Session, scope.PSession, parentSession, scope.PID, scope.Call)
	case reflect.TypeFor[Sharing]():
		return words(Shared, Exclusive)
	case reflect.TypeFor[Protocol]():
		return words(Auto, Legacy, Modern)
	case reflect.TypeFor[ServerRequests]():
		return words(RequestsAuto, RequestsAttribute, RequestsRefuse)
	case reflect.TypeFor[EnvPolicy]():
		return words(Inherit, Clean)
	case reflect.TypeFor[Approve]():
		return words(ApproveAny, ApprovePerson, ApproveNever)
	case reflect.TypeFor[Auth]():
		return words[Auth]("token", "none")
	case reflect.TypeFor[ManagementTool]():
		return words(ManageStatus, ManageRoots)
	case reflect.TypeFor[OnError]():
		return words[OnError]("open", "closed")
	}
	return nil
}

// parentSession is how people may write psession (design D2).
const parentSession scope.Scope = "parent-session"

func words[T ~string](ws ...T) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = string(w)
	}
	return out
}

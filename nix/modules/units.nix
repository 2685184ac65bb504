# The daemon as systemd and launchd run it.
#
# The units name the program by its store path, so a new mcpx is a new unit text
# and restarts the daemon; they do not name the config, which the daemon watches,
# so a new config restarts nothing.
{
  lib,
  exe,
  home,
  profileDirectory,
  username,
  # null: where every mcpx looks by itself.
  runtimeDir,
  service,
  socketActivation,
}:
let
  # Service managers start with a minimal PATH, and the servers inherit it: npx,
  # uvx and the like are found in these, as they are in a login shell.
  path = lib.concatStringsSep ":" (
    lib.unique (
      map (p: if lib.isString p then p else "${lib.getBin p}/bin") service.path
      ++ [
        "${profileDirectory}/bin"
        "/etc/profiles/per-user/${username}/bin"
        "${home}/.nix-profile/bin"
        "${home}/.local/state/nix/profile/bin"
        "/run/wrappers/bin"
        "/nix/var/nix/profiles/default/bin"
        "/run/current-system/sw/bin"
        "/opt/homebrew/bin"
        "/usr/local/bin"
        "/usr/bin"
        "/bin"
      ]
    )
  );
  environment = {
    PATH = path;
  }
  // service.environment;

  # systemd reads C escapes in quotes, which are JSON's, and specifiers after %;
  # in a command line $ would be a variable.
  quote = s: lib.replaceStrings [ "%" ] [ "%%" ] (builtins.toJSON s);
  quoteWord = s: lib.replaceStrings [ "$" ] [ "$$" ] (quote s);

  command =
    quoteWith:
    "${exe} daemon"
    + lib.optionalString (runtimeDir != null) " --runtime-dir ${quoteWith runtimeDir}";

  sockets = [
    "mcpx-attach.socket"
    "mcpx-control.socket"
  ];
  socketDir =
    if runtimeDir == null then "%t/mcpx" else lib.replaceStrings [ "%" ] [ "%%" ] runtimeDir;
  socket = name: what: {
    Unit.Description = "mcpx: ${what}";
    Socket = {
      ListenStream = "${socketDir}/${name}.sock";
      # Both sides check that the other is the same user; these keep others out
      # before it comes to that.
      SocketMode = "0600";
      DirectoryMode = "0700";
      FileDescriptorName = name;
      Service = "mcpx.service";
    };
    Install.WantedBy = [ "sockets.target" ];
  };
in
{
  systemd = {
    services.mcpx = {
      Unit = {
        Description = "mcpx: runs MCP servers once per scope";
      }
      // lib.optionalAttrs socketActivation {
        Requires = sockets;
        After = sockets;
      };
      Service = {
        Type = "notify";
        ExecStart = command quoteWord;
        Environment = lib.mapAttrsToList (name: value: quote "${name}=${value}") environment;
        Restart = "on-failure";
        RestartSec = 1;
        # Servers are stopped by the daemon, in steps of daemon.stopGrace; what
        # is left of the group goes at once when it has ended.
        KillMode = "mixed";
        TimeoutStopSec = 30;
        # One server out of memory is not all of them.
        OOMPolicy = "continue";
        MemoryHigh = "75%";
        TasksMax = 8192;
        # The daemon raises its own limit to the second number; servers start
        # with the first, which programs that select(2) need.
        LimitNOFILE = "1024:524288";
        # Secrets are in memory: no core, and nothing written for others to read.
        LimitCORE = 0;
        UMask = "0077";
        # No Protect*, Private* or NoNewPrivileges: every server inherits them.
        # In a user manager the first two mean a user namespace, where files of
        # root look foreign to owner checks; the third breaks rootless containers
        # and browser sandboxes. Contain single servers instead.
      }
      // lib.optionalAttrs socketActivation { Sockets = sockets; };
    }
    // lib.optionalAttrs (!socketActivation) { Install.WantedBy = [ "default.target" ]; };

    sockets = lib.optionalAttrs socketActivation {
      mcpx-attach = socket "attach" "sessions";
      mcpx-control = socket "control" "status and changes";
    };
  };

  launchd = {
    enable = true;
    config = {
      # At login the store may not be mounted yet.
      ProgramArguments = [
        "/bin/sh"
        "-c"
        "/bin/wait4path /nix/store && exec ${command lib.escapeShellArg}"
      ];
      EnvironmentVariables = environment;
      RunAtLoad = true;
      # `mcpx stop` is obeyed; a crash is not the end.
      KeepAlive.SuccessfulExit = false;
      ExitTimeOut = 30;
      Umask = 63; # 0077
      SoftResourceLimits.Core = 0;
      StandardErrorPath = "${home}/Library/Logs/mcpx.log";
    };
  };
}

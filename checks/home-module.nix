# The module under `lib.evalModules`, with stand-ins for the options of
# home-manager that it sets, so that the flake needs no home-manager input.
{
  pkgs,
  self,
  mcpx,
}:
let
  inherit (pkgs) lib;
  inherit (pkgs.stdenv.hostPlatform) isDarwin isLinux;

  anything = lib.mkOption {
    type = lib.types.attrsOf lib.types.anything;
    default = { };
  };
  homeManager = {
    options = {
      assertions = lib.mkOption {
        type = lib.types.listOf lib.types.raw;
        default = [ ];
      };
      home = {
        file = anything;
        homeDirectory = lib.mkOption { type = lib.types.str; };
        packages = lib.mkOption {
          type = lib.types.listOf lib.types.package;
          default = [ ];
        };
        profileDirectory = lib.mkOption { type = lib.types.str; };
        username = lib.mkOption { type = lib.types.str; };
      };
      launchd.agents = anything;
      systemd.user = {
        services = anything;
        sockets = anything;
      };
      xdg = {
        configFile = anything;
        configHome = lib.mkOption {
          type = lib.types.str;
          default = "/home/user/.config";
        };
      };
    };
    config.home = {
      homeDirectory = "/home/user";
      profileDirectory = "/home/user/.nix-profile";
      username = "user";
    };
  };
  # What later versions have besides.
  programsMcp.options.programs.mcp = {
    enable = lib.mkOption {
      type = lib.types.bool;
      default = false;
    };
    servers = anything;
  };
  programsCursor.options.programs.cursor.profiles = anything;

  eval =
    modules:
    (lib.evalModules {
      modules = [
        homeManager
        self.homeModules.default
        {
          _module.args.pkgs = pkgs;
          programs.mcpx.enable = true;
        }
      ]
      ++ modules;
    }).config;
  with' = settings: eval [ { programs.mcpx = settings; } ];

  failed = c: map (a: a.message) (lib.filter (a: !a.assertion) c.assertions);
  # Whether the options do not take these settings.
  refused =
    settings:
    let
      inherit ((with' settings).programs) mcpx;
    in
    !(builtins.tryEval (
      builtins.deepSeq {
        inherit (mcpx)
          daemon
          defaults
          rules
          servers
          service
          ;
      } true
    )).success;

  ownPackage = self.packages.${pkgs.stdenv.hostPlatform.system}.mcpx;

  gopls = {
    command = "gopls";
    args = [ "mcp" ];
    mcpx.scope = "worktree";
  };
  servers = {
    inherit gopls;
    github = {
      url = "https://mcp.example.org/mcp";
      note = "for another host";
      mcpx.secrets.Authorization.file = "/run/secrets/github";
    };
  };
  entry = name: {
    command = lib.getExe ownPackage;
    args = [
      "connect"
      name
    ];
  };

  plain = with' {
    inherit servers;
    defaults.idleTimeout = "30m";
    daemon.maxInstances = 8;
    service.path = [ "/opt/tools/bin" ];
    service.environment.LANG = "C.UTF-8";
  };
  otherConfig = with' {
    servers.gopls = gopls;
    service.path = [ "/opt/tools/bin" ];
    service.environment.LANG = "C.UTF-8";
  };
  otherPackage = with' {
    inherit servers;
    package = mcpx.overrideAttrs { version = "0.0.0"; };
  };
  withoutSockets = with' { socketActivation = false; };
  withoutService = with' { service.enable = false; };
  off = eval [ { programs.mcpx.enable = lib.mkForce false; } ];
  wired = eval [
    programsMcp
    {
      programs.mcpx = {
        inherit servers;
        enableMcpIntegration = true;
      };
      programs.mcp.servers.gopls.args = [
        "connect"
        "gopls"
        "--cwd"
        "/src"
      ];
    }
  ];
  hosts = eval [
    programsMcp
    programsCursor
    {
      programs.mcpx = {
        inherit servers;
        hosts.cursor.enable = true;
        hosts.gemini.enable = true;
        rules.rules = [
          {
            path = "~/scratch";
            servers = [ ];
          }
        ];
      };
    }
  ];
  fleet = eval [
    programsMcp
    {
      programs.mcpx = {
        fleet = ../fleet;
        machine = "laptop";
        enableMcpIntegration = true;
      };
    }
  ];
  # A machine whose sockets are elsewhere.
  sandbox = eval [
    programsMcp
    {
      home.homeDirectory = lib.mkForce "/root";
      programs.mcpx = {
        fleet = ../fleet;
        machine = "sandbox";
        enableMcpIntegration = true;
      };
    }
  ];
  elsewhere = eval [
    {
      programs.mcpx.servers.gopls = gopls;
      xdg.configHome = "/home/user/config";
    }
  ];

  unit = c: c.systemd.user.services.mcpx;
  agent = c: c.launchd.agents.mcpx.config;
  # The text that a service manager would see, of either kind.
  supervised = c: builtins.toJSON (if isLinux then c.systemd.user else c.launchd.agents);

  path = lib.concatStringsSep ":" [
    "/opt/tools/bin"
    "/home/user/.nix-profile/bin"
    "/etc/profiles/per-user/user/bin"
    "/home/user/.local/state/nix/profile/bin"
    "/run/wrappers/bin"
    "/nix/var/nix/profiles/default/bin"
    "/run/current-system/sw/bin"
    "/opt/homebrew/bin"
    "/usr/local/bin"
    "/usr/bin"
    "/bin"
  ];

  socket = name: {
    ListenStream = "%t/mcpx/${name}.sock";
    SocketMode = "0600";
    DirectoryMode = "0700";
    FileDescriptorName = name;
    Service = "mcpx.service";
  };

  facts = {
    # -- what is installed
    nothingWhenOff =
      off.home.packages == [ ]
      && off.xdg.configFile == { }
      && off.systemd.user.services == { }
      && off.launchd.agents == { };
    ownPackageByDefault =
      plain.home.packages == [ ownPackage ];
    noAssertionFails =
      lib.concatMap failed [
        plain
        otherConfig
        otherPackage
        withoutSockets
        wired
        hosts
        fleet
        sandbox
        elsewhere
      ] == [ ];
    configIsInstalled =
      plain.xdg.configFile."mcpx/config.json".source == plain.programs.mcpx.configFile;
    rulesOnlyWhenSet =
      hosts.xdg.configFile ? "mcpx/rules.json" && !(plain.xdg.configFile ? "mcpx/rules.json");
    alsoWhereHostsLook =
      elsewhere.home.file.".config/mcpx/config.json".source == elsewhere.programs.mcpx.configFile
      && plain.home.file == { };

    # -- the service
    serviceFollowsPlatform =
      (plain.systemd.user.services != { }) == isLinux && (plain.launchd.agents != { }) == isDarwin;
    serviceCanBeLeftOut =
      withoutService.systemd.user.services == { }
      && withoutService.systemd.user.sockets == { }
      && withoutService.launchd.agents == { };
    newPackageNewUnit = supervised plain != supervised otherPackage;
    newConfigSameUnit =
      plain.programs.mcpx.configFile != otherConfig.programs.mcpx.configFile
      && supervised plain == supervised otherConfig;
  }
  // lib.optionalAttrs isLinux {
    storePathIsStarted =
      (unit plain).Service.ExecStart == "${lib.getExe plain.programs.mcpx.package} daemon";
    pathIsComplete = lib.elem ''"PATH=${path}"'' (unit plain).Service.Environment;
    environmentIsPassed = lib.elem ''"LANG=C.UTF-8"'' (unit plain).Service.Environment;
    readinessIsTold = (unit plain).Service.Type == "notify";
    hardened =
      lib.filterAttrs (
        name: _:
        lib.elem name [
          "KillMode"
          "LimitCORE"
          "OOMPolicy"
          "UMask"
        ]
      ) (unit plain).Service == {
        KillMode = "mixed";
        LimitCORE = 0;
        OOMPolicy = "continue";
        UMask = "0077";
      };
    childrenAreNotConfined =
      lib.filter (
        name:
        lib.hasPrefix "Protect" name
        || lib.hasPrefix "Private" name
        || lib.elem name [
          "NoNewPrivileges"
          "RuntimeDirectory"
          "SystemCallFilter"
        ]
      ) (lib.attrNames (unit plain).Service) == [ ];
    twoSockets =
      lib.mapAttrs (_: s: s.Socket) plain.systemd.user.sockets == {
        mcpx-attach = socket "attach";
        mcpx-control = socket "control";
      };
    socketsStartTheService =
      (unit plain).Service.Sockets == [
        "mcpx-attach.socket"
        "mcpx-control.socket"
      ]
      && !((unit plain) ? Install);
    socketsAreWhereTheMachineSays =
      (unit sandbox).Service.ExecStart
      == "${lib.getExe ownPackage} daemon --runtime-dir \"/root/.local/state/mcpx/run\""
      && sandbox.systemd.user.sockets.mcpx-attach.Socket.ListenStream
      == "/root/.local/state/mcpx/run/attach.sock";
    orLoginDoes =
      withoutSockets.systemd.user.sockets == { }
      && (unit withoutSockets).Install.WantedBy == [ "default.target" ]
      && !((unit withoutSockets).Unit ? Requires);
  }
  // lib.optionalAttrs isDarwin {
    agentWaitsForTheStore =
      lib.last (agent plain).ProgramArguments
      == "/bin/wait4path /nix/store && exec ${lib.getExe plain.programs.mcpx.package} daemon";
    pathIsComplete = (agent plain).EnvironmentVariables.PATH == path;
  }
  // {
    # -- hosts
    withoutProgramsMcp = !(plain ? programs.mcp);
    hostsGoThroughMcpx =
      wired.programs.mcp.enable && wired.programs.mcp.servers.github == entry "github";
    entriesCanBeOverridden =
      wired.programs.mcp.servers.gopls == entry "gopls" // {
        args = [
          "connect"
          "gopls"
          "--cwd"
          "/src"
        ];
      };
    asRenderIsByItself =
      lib.attrNames fleet.programs.mcp.servers
      == lib.attrNames (lib.importJSON ./fleet/golden/laptop/hosts/home-manager/mcp.json).mcpServers;
    hostsFindTheSockets =
      sandbox.programs.mcp.servers.codedb.args == [
        "connect"
        "codedb"
        "--runtime-dir"
        "/root/.local/state/mcpx/run"
      ];
    hostFiles =
      lib.attrNames hosts.home.file == [
        ".cursor/mcp.json"
        ".gemini/settings.json"
      ];
  };

  sentences = {
    "programs.mcpx.fleet needs programs.mcpx.machine, the name of a file in its machines folder." =
      with' { fleet = ../fleet; };
    "programs.mcpx.machine names a machine of programs.mcpx.fleet, which is not set." = with' {
      machine = "laptop";
    };
    "programs.mcpx.machine is desktop, but programs.mcpx.fleet has no such machine; it has laptop, sandbox." =
      with' {
        fleet = ../fleet;
        machine = "desktop";
      };
    "programs.mcpx.machine: machines/sandbox.json says that home is /root, and here it is /home/user." =
      with' {
        fleet = ../fleet;
        machine = "sandbox";
      };
    "programs.mcpx.fleet is set, so programs.mcpx.servers would have no effect: write it into the fleet folder, or leave fleet out." =
      with' {
        fleet = ../fleet;
        machine = "laptop";
        inherit servers;
      };
    "programs.mcpx.enableMcpIntegration needs programs.mcp, which home-manager has since release 25.11." =
      with' { enableMcpIntegration = true; };
    "programs.mcpx.hosts.cursor.enable and enableMcpIntegration of programs.cursor both lead Cursor to mcpx, which would show each server twice: leave one out." =
      eval [
        programsMcp
        programsCursor
        {
          programs.mcpx.enableMcpIntegration = true;
          programs.mcpx.hosts.cursor.enable = true;
          programs.cursor.profiles.default.enableMcpIntegration = true;
        }
      ];
  }
  // lib.mapAttrs' (
    at: settings:
    lib.nameValuePair "programs.mcpx.${at} holds a literal secret, and every user can read the Nix store: have mcpx.secrets of the server name a file or a command instead." (
      with' settings
    )
  ) literals;
  literals = {
    "servers.docs.env.DOCS_TOKEN".servers.docs.env.DOCS_TOKEN = "hunter2";
    "servers.docs.headers.Authorization".servers.docs.headers.Authorization = "Bearer hunter2";
    "servers.docs.args".servers.docs.args = [
      "--token"
      "hunter2"
    ];
    "servers.github.args".servers.github.args = [ "--with=ghp_0123456789" ];
    "servers.docs.url".servers.docs.url = "https://me:hunter2@mcp.example.org";
    "servers.docs.mcpx.secrets.DOCS_TOKEN.file".servers.docs.mcpx.secrets.DOCS_TOKEN.file = "${../go.mod}";
    "daemon.env.API_KEY".daemon.env.API_KEY = "hunter2";
    "service.environment.API_KEY".service.environment.API_KEY = "hunter2";
  };
  noSecrets = with' {
    servers.docs = {
      env.DOCS_TOKEN = "\${DOCS_TOKEN}";
      env.DOCS_TOKEN_FILE = "/run/secrets/docs";
      env.MAX_TOKENS = "4096";
      headers.Authorization = "Bearer \${DOCS_TOKEN}";
      args = [
        "--token-file"
        "/run/secrets/docs"
        "--max-tokens=4096"
      ];
    };
  };

  wrongTypes = {
    scope.servers.gopls.mcpx.scope = "planet";
    unknownInBlock.servers.gopls.mcpx.scpoe = "worktree";
    args.servers.gopls.args = "mcp";
    env.servers.gopls.env.N = 1;
    duration.servers.gopls.mcpx.idleTimeout = "soon";
    max.servers.gopls.mcpx.max = 0;
    daemon.daemon.maxInstances = "many";
    unknownInDaemon.daemon.port = 80;
    rules.rules.rules = [ { path = "~/x"; } ];
    serviceEnvironment.service.environment.N = 1;
  };

  wrong =
    lib.attrNames (lib.filterAttrs (_: holds: !holds) facts)
    ++ lib.concatLists (
      lib.mapAttrsToList (
        sentence: c:
        lib.optional (failed c != [ sentence ])
          "${builtins.toJSON (failed c)} instead of ${builtins.toJSON [ sentence ]}"
      ) sentences
    )
    ++ map (message: "no secret: ${message}") (failed noSecrets)
    ++ map (name: "wrong types: ${name} is taken") (
      lib.attrNames (lib.filterAttrs (_: settings: !(refused settings)) wrongTypes)
    );
in
assert lib.throwIfNot (wrong == [ ]) "home module: ${lib.concatStringsSep "; " wrong}" true;
pkgs.runCommand "mcpx-check-home-module" { nativeBuildInputs = [ pkgs.jq ]; } ''
  holds() { jq -e "$2" "$1" >/dev/null || { echo "not so: $2"; cat "$1"; exit 1; }; }

  holds ${plain.programs.mcpx.configFile} '
    .mcpServers.gopls == {command: "gopls", args: ["mcp"], mcpx: {scope: "worktree"}}
    and .mcpServers.github.note == "for another host"
    and .defaults == {idleTimeout: "30m"}
    and .daemon == {maxInstances: 8}'
  holds ${hosts.home.file.".cursor/mcp.json".source} '.mcpServers | keys == ["github", "gopls"]'
  holds ${hosts.home.file.".gemini/settings.json".source} '
    .mcpServers.gopls == {command: "${lib.getExe hosts.programs.mcpx.package}", args: ["connect", "gopls"]}'
  holds ${hosts.xdg.configFile."mcpx/rules.json".source} '.rules == [{path: "~/scratch", servers: []}]'
  diff ${fleet.programs.mcpx.configFile} ${./fleet/golden/laptop/mcpx/config.json}
  touch $out
''

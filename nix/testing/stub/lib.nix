# The slice of nixpkgs' lib that mcpx's Nix files call, written for this
# repository. Same names, same meaning, nothing more: a name that is missing
# here is a name to add here when a Nix file starts to use it.
let
  inherit (builtins)
    all
    any
    attrNames
    compareVersions
    concatLists
    concatMap
    concatStringsSep
    elem
    elemAt
    filter
    foldl'
    fromJSON
    functionArgs
    head
    isAttrs
    isBool
    isFunction
    isInt
    isList
    isPath
    isString
    length
    listToAttrs
    map
    mapAttrs
    match
    readFile
    removeAttrs
    replaceStrings
    stringLength
    substring
    toString
    ;

  lib = rec {
    inherit
      all
      any
      attrNames
      concatLists
      concatMap
      concatStringsSep
      elem
      elemAt
      filter
      foldl'
      functionArgs
      head
      isAttrs
      isBool
      isFunction
      isInt
      isList
      isString
      length
      listToAttrs
      map
      mapAttrs
      removeAttrs
      replaceStrings
      stringLength
      substring
      ;
    inherit (builtins) attrValues;

    # -- trivial, lists, attrsets, strings
    id = x: x;
    importJSON = path: fromJSON (readFile path);
    nameValuePair = name: value: { inherit name value; };
    genAttrs = names: f: listToAttrs (map (n: nameValuePair n (f n)) names);
    mapAttrs' = f: set: listToAttrs (map (n: f n set.${n}) (attrNames set));
    mapAttrsToList = f: set: map (n: f n set.${n}) (attrNames set);
    filterAttrs = pred: set: removeAttrs set (filter (n: !pred n set.${n}) (attrNames set));
    optional = cond: x: if cond then [ x ] else [ ];
    optionals = cond: xs: if cond then xs else [ ];
    optionalAttrs = cond: set: if cond then set else { };
    optionalString = cond: s: if cond then s else "";
    zipListsWith =
      f: a: b:
      builtins.genList (i: f (elemAt a i) (elemAt b i)) (min (length a) (length b));
    min = a: b: if a < b then a else b;
    last = xs: elemAt xs (length xs - 1);
    unique = foldl' (acc: x: if elem x acc then acc else acc ++ [ x ]) [ ];
    flatten = x: if isList x then concatMap flatten x else [ x ];
    recursiveUpdate =
      a: b:
      a
      // mapAttrs (
        n: v: if isAttrs v && isAttrs (a.${n} or null) && !isDerivation v then recursiveUpdate a.${n} v else v
      ) b;
    isDerivation = x: isAttrs x && (x.type or null) == "derivation";
    concatMapStringsSep =
      sep: f: xs:
      concatStringsSep sep (map f xs);
    concatStrings = concatStringsSep "";
    concatMapStrings = concatMapStringsSep "";
    concatLines = concatMapStrings (x: x + "\n");
    hasPrefix = p: s: substring 0 (stringLength p) s == p;
    hasInfix = x: s: length (builtins.split (escapeRegex x) s) > 1;
    escapeRegex = replaceStrings specials (map (c: "\\" + c) specials);
    specials = [
      "\\"
      "["
      "]"
      "{"
      "}"
      "("
      ")"
      "^"
      "$"
      "?"
      "*"
      "+"
      "|"
      "."
    ];
    toLower =
      replaceStrings (letters "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        (letters "abcdefghijklmnopqrstuvwxyz");
    letters = s: builtins.genList (i: substring i 1 s) (stringLength s);
    versionAtLeast = v: least: compareVersions v least >= 0;
    hasSuffix =
      x: s:
      let
        n = stringLength s - stringLength x;
      in
      n >= 0 && substring n (stringLength x) s == x;
    removePrefix =
      p: s: if hasPrefix p s then substring (stringLength p) (stringLength s) s else s;
    removeSuffix =
      x: s: if hasSuffix x s then substring 0 (stringLength s - stringLength x) s else s;
    fileContents = path: removeSuffix "\n" (readFile path);
    escapeShellArg =
      arg:
      let
        s = toString arg;
      in
      if match "[[:alnum:],._+:@%/-]+" s == null then "'${replaceStrings [ "'" ] [ "'\\''" ] s}'" else s;
    escapeShellArgs = concatMapStringsSep " " escapeShellArg;
    makeBinPath = concatMapStringsSep ":" (p: "${p}/bin");
    getBin = pkg: pkg.bin or pkg;
    getExe' = pkg: name: "${pkg}/bin/${name}";
    getExe = pkg: getExe' pkg (pkg.meta.mainProgram or pkg.pname);
    warn = msg: builtins.trace "warning: ${msg}";
    warnIf = cond: msg: if cond then warn msg else id;
    assertMsg = cond: msg: cond || throw msg;
    throwIfNot = cond: msg: if cond then id else throw msg;

    callPackageWith =
      scope: fn: args:
      let
        f = if isFunction fn then fn else import fn;
        formals = functionArgs f;
        wanted = filter (n: args ? ${n} || scope ? ${n} || !formals.${n}) (attrNames formals);
      in
      f (
        genAttrs wanted (
          n: args.${n} or scope.${n} or (throw "stub nixpkgs has no `${n}`; add it to nix/testing/stub/pkgs.nix")
        )
      );

    licenses = genAttrs [
      "asl20"
      "bsd3"
      "mit"
    ] (shortName: { inherit shortName; });
    platforms = rec {
      linux = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      darwin = [ "aarch64-darwin" ];
      unix = linux ++ darwin;
      all = unix;
    };
    maintainers = { };

    # -- file sets: unions of paths, of which a filter may take files out
    fileset =
      let
        parts =
          x:
          if isAttrs x && x ? _parts then
            x._parts
          else if isPath x then
            part (_: true) x
          else
            throw "stub fileset: give a path or a union of paths";
        part = keeps: path: [
          {
            inherit keeps;
            path = toString path;
          }
        ];
        under = p: base: p == base || hasPrefix (base + "/") p;
      in
      {
        unions = xs: { _parts = concatMap parts xs; };
        maybeMissing = p: { _parts = if builtins.pathExists p then part (_: true) p else [ ]; };
        fileFilter = pred: path: {
          _parts = part (
            name:
            pred {
              inherit name;
              hasExt = ext: hasSuffix ".${ext}" name;
            }
          ) path;
        };
        toSource =
          { root, fileset }:
          let
            wanted = parts fileset;
            missing = filter (w: !builtins.pathExists w.path) wanted;
            keep =
              p: type: w:
              if type == "directory" then
                under p w.path || under w.path p
              else
                under p w.path && w.keeps (baseNameOf p);
          in
          throwIfNot (missing == [ ]) "stub fileset: no such path: ${toString (map (w: w.path) missing)}" {
            outPath = builtins.path {
              name = "source";
              path = root;
              filter = p: type: any (keep p type) wanted;
            };
          };
      };

    # -- options and modules
    mkOption = attrs: attrs // { _type = "option"; };
    mkEnableOption =
      what:
      mkOption {
        type = types.bool;
        default = false;
        description = "Whether to enable ${what}.";
      };
    mkPackageOption =
      pkgs: name:
      {
        default ? name,
        nullable ? false,
        ...
      }:
      mkOption {
        type = if nullable then types.nullOr types.package else types.package;
        default = if default == null then null else pkgs.${default};
        description = "The ${name} package to use.";
      };
    mkIf = condition: content: {
      _type = "if";
      inherit condition content;
    };
    mkMerge = contents: {
      _type = "merge";
      inherit contents;
    };
    mkOverride = priority: content: {
      _type = "override";
      inherit priority content;
    };
    mkDefault = mkOverride 1000;
    mkForce = mkOverride 50;
    literalExpression = text: {
      _type = "literalExpression";
      inherit text;
    };
    isType = t: x: isAttrs x && (x._type or null) == t;
    isOption = isType "option";

    # Definitions that survive mkIf and mkMerge.
    discharge =
      v:
      if isType "if" v then
        optionals v.condition (discharge v.content)
      else if isType "merge" v then
        concatMap discharge v.contents
      else
        [ v ];

    # The attribute sets inside a definition, with its conditions and priority
    # moved onto their values: names can be read before any condition is.
    pushDown =
      v:
      if isType "if" v then
        map (mapAttrs (_: mkIf v.condition)) (pushDown v.content)
      else if isType "override" v then
        map (mapAttrs (_: mkOverride v.priority)) (pushDown v.content)
      else if isType "merge" v then
        concatMap pushDown v.contents
      else
        [ v ];

    # Definitions of the strongest priority, unwrapped.
    strongest =
      defs:
      let
        prio = d: if isType "override" d then d.priority else 100;
        best = foldl' (acc: d: if prio d < acc then prio d else acc) 9999 defs;
      in
      map (d: if isType "override" d then d.content else d) (filter (d: prio d == best) defs);

    showLoc = concatStringsSep ".";

    mergeDefs =
      loc: type: defs:
      let
        vals = strongest (concatMap discharge defs);
        bad = filter (v: !type.check v) vals;
      in
      if vals == [ ] then
        type.empty or (throw "The option `${showLoc loc}' was accessed but has no value defined.")
      else if bad != [ ] then
        throw "A definition for option `${showLoc loc}' is not of type `${type.name}'."
      else
        type.merge loc vals;

    types =
      let
        one =
          loc: vals:
          if length vals == 1 || all (v: v == head vals) vals then
            head vals
          else
            throw "The option `${showLoc loc}' has conflicting definition values.";
        scalar = name: check: {
          inherit name check;
          merge = one;
        };
      in
      rec {
        str = scalar "string" isString;
        bool = scalar "boolean" isBool;
        int = scalar "signed integer" isInt;
        path = scalar "path" (x: isPath x || isDerivation x || (isString x && hasPrefix "/" x) || (isAttrs x && x ? outPath));
        package = scalar "package" (x: isDerivation x || (isAttrs x && x ? outPath));
        raw = scalar "raw value" (_: true);
        ints.positive = scalar "positive integer" (x: isInt x && x > 0);
        strMatching =
          regex: scalar "string matching the pattern ${regex}" (x: isString x && match regex x != null);
        enum = xs: scalar "one of ${builtins.toJSON xs}" (x: elem x xs);
        lines = {
          name = "strings concatenated with \"\\n\"";
          check = isString;
          merge = _loc: concatStringsSep "\n";
        };
        anything = {
          name = "anything";
          check = _: true;
          merge =
            loc: vals:
            if all (v: isAttrs v && !isDerivation v) vals then (attrsOf anything).merge loc vals else one loc vals;
        };
        attrs = {
          name = "attribute set";
          check = isAttrs;
          merge = _loc: foldl' (a: b: a // b) { };
        };
        nullOr = t: {
          name = "null or ${t.name}";
          check = x: x == null || t.check x;
          merge = loc: vals: if all (v: v == null) vals then null else t.merge loc vals;
        };
        either = a: b: {
          name = "${a.name} or ${b.name}";
          check = x: a.check x || b.check x;
          merge = loc: vals: if all a.check vals then a.merge loc vals else b.merge loc vals;
        };
        oneOf = ts: foldl' either (head ts) (builtins.tail ts);
        listOf = t: {
          name = "list of ${t.name}";
          check = isList;
          empty = [ ];
          merge = loc: vals: map (v: mergeDefs loc t [ v ]) (concatLists vals);
        };
        attrsOf = t: {
          name = "attribute set of ${t.name}";
          check = isAttrs;
          empty = { };
          merge =
            loc: vals:
            let
              flat = concatMap discharge vals;
              names = unique (concatMap attrNames flat);
              live = filter (
                n: concatMap discharge (concatMap (v: optional (v ? ${n}) v.${n}) flat) != [ ]
              ) names;
            in
            genAttrs live (n: mergeDefs (loc ++ [ n ]) t (concatMap (v: optional (v ? ${n}) v.${n}) flat));
        };
        lazyAttrsOf = attrsOf;
        submodule = module: {
          name = "submodule";
          check = x: isAttrs x || isFunction x;
          merge =
            loc: vals:
            (evalModules {
              modules = [ module ] ++ map (v: if isFunction v then v else { config = v; }) vals;
              specialArgs.name = last loc;
              prefix = loc;
            }).config;
        };
      };

    evalModules =
      {
        modules,
        specialArgs ? { },
        prefix ? [ ],
      }:
      let
        argFor =
          name:
          {
            inherit lib config options;
          }
          .${name} or specialArgs.${name} or config._module.args.${name};
        # A module may be a path, a function or an attribute set.
        load =
          m:
          let
            m' = if isPath m || isString m then import m else m;
            v = if isFunction m' then m' (mapAttrs (n: _: argFor n) (functionArgs m')) else m';
            structured = v ? config || v ? options;
          in
          [
            {
              options = v.options or { };
              config = if structured then v.config or { } else removeAttrs v [ "imports" "freeformType" "meta" "_file" ];
              freeformType = v.freeformType or null;
            }
          ]
          ++ concatMap load (v.imports or [ ]);
        loaded = concatMap load (
          modules
          ++ [
            {
              options._module.args = mkOption {
                type = types.lazyAttrsOf types.raw;
                default = { };
              };
            }
          ]
        );
        options = foldl' recursiveUpdate { } (map (m: m.options) loaded);
        freeform = filter (t: t != null) (map (m: m.freeformType) loaded);
        evalTree =
          loc: opts: defs:
          let
            flat = concatMap pushDown defs;
            at = n: concatMap (d: optional (d ? ${n}) d.${n}) flat;
            extra = filter (n: !(opts ? ${n})) (unique (concatMap attrNames flat));
            declared = mapAttrs (
              n: o:
              let
                here = loc ++ [ n ];
              in
              if isOption o then
                (o.apply or id) (mergeDefs here o.type (at n ++ optional (o ? default) (mkOverride 1500 o.default)))
              else
                evalTree here o (at n)
            ) opts;
          in
          if extra == [ ] then
            declared
          else if loc == prefix && freeform != [ ] then
            (head freeform).merge loc (map (d: removeAttrs d (attrNames opts)) flat) // declared
          else
            throw "The option `${showLoc (loc ++ [ (head extra) ])}' does not exist.";
        config = evalTree prefix options (map (m: m.config) loaded);
      in
      {
        config = removeAttrs config [ "_module" ];
        inherit options;
      };
  };
in
lib

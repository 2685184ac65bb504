# Where a server's definition holds a secret itself rather than a way to it, such
# as "env.GITHUB_TOKEN". The Nix store is readable by every user, so none may get
# there (threat T37). What counts is what the fleet's rule `secret-literal` says
# (pkg/config/secret.go), which runs too late for that: in a build.
{ lib }:
let
  matches = regex: s: builtins.match regex s != null;

  secretName = "${
    lib.concatMapStringsSep "|" (part: ".*${part}.*") [
      "token"
      "secret"
      "password"
      "passwd"
      "passphrase"
      "apikey"
      "accesskey"
      "privatekey"
      "authorization"
      "credential"
      "bearer"
      "cookie"
    ]
  }|auth|pat|pwd|key";
  # What is none whatever its name says: where the secret is kept, a switch, a
  # number of tokens, and what somebody else fills in.
  place = ".*(file|path|dir|url|command)";
  word = "|true|false|none|auto|oauth|token|basic|bearer";
  reference =
    "((bearer|basic|token) +)?"
    + "([$][{][^}]*[}]|[$][a-z_][a-z0-9_]*|[{](env|file):[^}]*[}])";

  token = "(.*[^A-Za-z0-9])?(${
    lib.concatStringsSep "|" [
      "gh[pousr]_"
      "github_pat_"
      "glpat-"
      "gldt-"
      "sk-"
      "[sr]k_live_"
      "sk_test_"
      "xox[abps]-"
      "xapp-"
      "A[KS]IA"
      "AIza"
      "ya29[.]"
      "hf_"
      "npm_"
      "pypi-"
      "dckr_pat_"
      "eyJ"
      "lin_api_"
      "ntn_"
      "shpat_"
      "SG[.]"
      "tvly-"
      "ctx7sk-"
      "figd_"
      "dop_v1_"
      "sbp_"
      "pplx-"
      "gsk_"
      "xai-"
      "r8_"
      "ATATT"
    ]
  })[A-Za-z0-9_-]{8}.*";
  isToken = s: matches token s || lib.hasInfix "-----BEGIN " s;

  isSecret =
    name: value:
    let
      name' = lib.toLower name;
      value' = lib.toLower value;
    in
    isToken value
    || (
      matches secretName (lib.replaceStrings [ "-" "_" "." ] [ "" "" "" ] name')
      && !(matches place name' || matches word value' || matches reference value')
      && !(lib.hasInfix "tokens" name' && matches "[0-9]+" value)
      && !(lib.hasInfix "credential" name' && lib.hasInfix "/" value)
    );

  # A token anywhere, `--api-key=VALUE` or `--api-key VALUE`.
  argsHold =
    args:
    lib.elem true (
      lib.zipListsWith (
        before: arg:
        let
          assigned = builtins.match "([^=]*)=(.*)" arg;
        in
        isToken arg
        || (assigned != null && isSecret (lib.head assigned) (lib.last assigned))
        || (matches "-[^=]*" before && !(lib.hasPrefix "-" arg) && isSecret before arg)
      ) ([ "" ] ++ args) args
    );

  orEmpty = empty: value: if value == null then empty else value;
in
rec {
  inVariables =
    field: values:
    map (name: "${field}.${name}") (lib.attrNames (lib.filterAttrs isSecret (orEmpty { } values)));

  inServer =
    server:
    let
      url = orEmpty "" server.url;
      kept = lib.filterAttrs (_: secret: lib.hasPrefix builtins.storeDir (orEmpty "" secret.file)) (
        orEmpty { } (orEmpty { secrets = null; } server.mcpx).secrets
      );
    in
    inVariables "env" server.env
    ++ inVariables "headers" server.headers
    ++ lib.optional (argsHold (orEmpty [ ] server.args)) "args"
    ++ lib.optional (isToken url || matches "[a-z]+://[^/@:]*:[^/@]+@.*" url) "url"
    # A secret's file that came along into the store is as public.
    ++ map (name: "mcpx.secrets.${name}.file") (lib.attrNames kept);
}

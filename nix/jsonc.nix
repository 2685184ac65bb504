# The value of a JSON text with comments and trailing commas, as a fleet's files
# are written: server names and a machine's runtimeDir are wanted while
# evaluating, before mcpx itself has read the files.
{ lib }:
text:
let
  # What a comment or comma inside a string looks like must not count, so strings
  # are matched too, and kept.
  string = ''"([^"\]|[\].)*"'';
  edit =
    regex: keep: s:
    lib.concatStrings (map (part: if lib.isString part then part else keep (lib.head part)) (
      builtins.split "(${string}|${regex})" s
    ));
  withoutComments = edit "//[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/" (
    m: if lib.hasPrefix "/" m then " " else m
  );
  withoutTrailingCommas = edit ",[ \t\r\n]*[]}]" (
    m: if lib.hasPrefix "," m then lib.removePrefix "," m else m
  );
in
builtins.fromJSON (withoutTrailingCommas (withoutComments text))

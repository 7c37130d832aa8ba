# Keeps the sessions of this machine in the background. Ends at once, successfully, and prints nothing.
settings="${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"
command -v indelible >/dev/null 2>&1 || exit 0
# The hooks of `indelible keep --install` do the same.
grep -q '# indelible keep' "$settings" 2>/dev/null && exit 0
cd / || exit 0
# The run is repeated: a program may write the end of an answer after its hook.
set -- env -u INDELIBLE_STORE -u INDELIBLE_KEY_FILE sh -c '"$@"; sleep 5; exec "$@"' sh indelible keep
if command -v setsid >/dev/null 2>&1; then
  setsid "$@" </dev/null >/dev/null 2>&1 &
else
  nohup "$@" </dev/null >/dev/null 2>&1 &
fi
exit 0

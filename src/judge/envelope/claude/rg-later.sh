# Check for rg availability
if ! hash rg 2>/dev/null && ! typeset -f rg >/dev/null 2>&1; then
  function rg {
  if [[ -x @PROGRAM@ ]]; then
  if [[ -n ${ZSH_VERSION:-} ]]; then
    ARGV0=rg @PROGRAM@ ${1+"$@"}
  elif [[ "$OSTYPE" == "msys" ]] || [[ "$OSTYPE" == "cygwin" ]] || [[ "$OSTYPE" == "win32" ]]; then
    ARGV0=rg @PROGRAM@ ${1+"$@"}
  else
    (exec -a rg @PROGRAM@ ${1+"$@"})
  fi
  elif [[ -x @CLAUDE@ ]]; then
  if [[ -n ${ZSH_VERSION:-} ]]; then
    ARGV0=rg @CLAUDE@ ${1+"$@"}
  elif [[ "$OSTYPE" == "msys" ]] || [[ "$OSTYPE" == "cygwin" ]] || [[ "$OSTYPE" == "win32" ]]; then
    ARGV0=rg @CLAUDE@ ${1+"$@"}
  else
    (exec -a rg @CLAUDE@ ${1+"$@"})
  fi
  else command rg ${1+"$@"}; fi
}
fi

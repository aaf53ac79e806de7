# Runs one line of a shell session and hands the session's state on. Descriptor 3 takes the state: working directory, NUL, a script
# that brings the rest back, NUL, "end", NUL. The line and the state of the call before come in pieces in the environment (one string of
# it may be at most 128 KiB long).
for ((__crab_i = 0; __crab_i < __CRAB_TEXTS; __crab_i++)); do
  __crab_name=__CRAB_TEXT_$__crab_i
  __crab_text+=${!__crab_name}
  unset "$__crab_name"
done
for ((__crab_i = 0; __crab_i < __CRAB_STATES; __crab_i++)); do
  __crab_name=__CRAB_STATE_$__crab_i
  __crab_state+=${!__crab_name}
  unset "$__crab_name"
done
unset __CRAB_TEXTS __CRAB_STATES
cd -- "$__CRAB_CWD" 2>/dev/null || printf 'crab: %s is gone; this call starts in /\n' "$__CRAB_CWD" >&2
unset __CRAB_CWD

__crab_save() {
  local __crab_options=:$SHELLOPTS: __crab_ifs=${IFS-$' \t\n'} __crab_names=() __crab_name __crab_letter __crab_fd=3 IFS=$' \t\n'
  [[ -n ${__crab_saved-} || $BASHPID != "$$" ]] && return
  # Where the line exits by itself, the redirection that keeps the state away from it still holds, and bash has put 3 at 10.
  [[ -z ${__crab_back-} && -p /proc/self/fd/10 ]] && __crab_fd=10
  builtin set +efuvx
  builtin set +o posix
  __crab_saved=1
  builtin unset -f __crab_save __crab_finish
  {
    builtin printf '%s\0' "$PWD"
    builtin shopt -p
    builtin declare -f
    builtin declare -Fx
    for __crab_letter in {a..z} {A..Z} _; do
      builtin eval "__crab_names+=(\${!$__crab_letter@})"
    done
    for __crab_name in "${__crab_names[@]}"; do
      case $__crab_name in
        BASH_ENV) builtin declare -p BASH_ENV ;;
        __crab* | __CRAB* | BASH | BASHOPTS | BASHPID | BASH_* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS) ;;
        HISTCMD | HOSTTYPE | IFS | LINENO | MACHTYPE | OSTYPE | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL) ;;
        SRANDOM | UID | _) ;;
        *) builtin declare -p "$__crab_name" ;;
      esac
    done
    builtin printf 'IFS=%q\n' "$__crab_ifs"
    builtin alias -p
    builtin umask -p
    for __crab_name in braceexpand hashall interactive-comments; do
      [[ $__crab_options == *":$__crab_name:"* ]] || builtin printf 'set +o %s\n' "$__crab_name"
    done
    for __crab_name in allexport errexit errtrace functrace keyword noclobber noglob nounset physical pipefail posix verbose xtrace; do
      [[ $__crab_options == *":$__crab_name:"* ]] && builtin printf 'set -o %s\n' "$__crab_name"
    done
    builtin printf '\0end\0'
  } >&"$__crab_fd" 2>/dev/null
  __crab_save() { :; }
}

__crab_finish() {
  {
    __crab_status=$? __crab_back=1
    __crab_save
    builtin exit "$__crab_status"
  } 2>/dev/null
}

{
  eval "$__crab_state"
  __crab_state=
  trap __crab_save EXIT
} 2>/dev/null
eval -- "$__crab_text" 3>&-
__crab_finish

import { type Command, Option } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { writeOutput } from '../terminal/stdout.ts';
import { candidatesFor, FILES } from './candidates.ts';

// The scripts contain no names of commands. At each TAB they call profilectl with the words typed so far, which prints one
// candidate per line, with a description after a tab. The single line `:files` makes the shell complete file names.

const BASH = `# Completion of profilectl for bash.
_profilectl() {
  local out line
  COMPREPLY=()
  out=$("\${COMP_WORDS[0]}" completion --candidates -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
  if [[ $out == '${FILES}' ]]; then
    compopt -o default
    return 0
  fi
  while IFS= read -r line; do
    [[ -n $line ]] && COMPREPLY+=("\${line%%$'\\t'*}")
  done <<<"$out"
}
complete -F _profilectl profilectl`;

const ZSH = `#compdef profilectl
# Completion of profilectl for zsh.
_profilectl() {
  local out line
  local -a values
  out=$("\${words[1]}" completion --candidates -- "\${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
  if [[ $out == '${FILES}' ]]; then
    _files
    return
  fi
  for line in "\${(@f)out}"; do
    [[ -n $line ]] && values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe -V profilectl values
}
if [[ $funcstack[1] == _profilectl ]]; then
  _profilectl "$@"
else
  compdef _profilectl profilectl
fi`;

const FISH = `# Completion of profilectl for fish.
function __profilectl_candidates
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l out (command $words[1] completion --candidates -- $words[2..-1] "$current" 2>/dev/null)
    if test "$out" = '${FILES}'
        __fish_complete_path "$current"
    else
        printf '%s\\n' $out
    end
end
complete -c profilectl -f -k -a '(__profilectl_candidates)'`;

const SCRIPTS: Record<string, string> = { bash: BASH, zsh: ZSH, fish: FISH };

/** Adds `completion`, which prints a completion script for a shell. */
export function addTo(command: Command): void {
  command
    .argument('[shell]', 'bash, zsh or fish')
    .addOption(new Option('--candidates', 'print the candidates, for the scripts').hideHelp())
    .allowExcessArguments()
    .addHelpText(
      'after',
      `
Identifiers of keys come from the local database (DATABASE_PATH or --db) or from the server that you are logged in to.

Examples:
  eval "$(profilectl completion bash)"                                        # in ~/.bashrc
  eval "$(profilectl completion zsh)"                                         # in ~/.zshrc, after compinit
  profilectl completion fish > ~/.config/fish/completions/profilectl.fish`,
    )
    .action(async (shell: string | undefined, options: { candidates?: boolean }) => {
      if (options.candidates === true) {
        for (const { value, about } of await candidatesFor(command.parent as Command, command.args))
          writeOutput(`${about ? `${value}\t${about}` : value}\n`);
        return;
      }
      const script = command.args.length > 1 ? undefined : SCRIPTS[shell ?? ''];
      if (script === undefined) throw new AppError('usage', 'Name one shell: bash, zsh or fish.');
      writeOutput(`${script}\n`);
    });
}

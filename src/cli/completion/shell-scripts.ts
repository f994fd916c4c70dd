/**
 * Completion scripts for shells. A script contains all words, so that completion is immediate; the shell runs the program only to
 * list profile names.
 */
import { valuedFlags, type CompletedCommand, type CompletedOption } from './completed-words.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  if (shell === 'fish') return fishScript(commands);
  if (shell === 'bash') return bashScript(commands);
  return `#compdef reveille\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}${zshFirst}`;
}

/** The names are in the first column of the table. */
const profileNames = `reveille profile list 2>/dev/null | awk 'NR > 1 { print $1 }'`;

/** When zsh autoloads the script from its fpath, the first call has to run the completion itself. */
const zshFirst = 'if [[ $funcstack[1] = _reveille ]]; then _bash_complete -o default -F _reveille; fi\n';

/** Zsh runs the same script through bashcompinit. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const values = commands.flatMap(({ path, options }) =>
    options.flatMap((option) => bashValues(path, option)),
  );
  return `_reveille() {
  local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' options='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
    ${valuedFlags(commands).join(' | ')}) i=$((i + 1)) ;;
    *)
      case "$path \${COMP_WORDS[i]}" in
      ${pathsOf(commands).map(quoted).join(' | ')}) path="$path \${COMP_WORDS[i]}" ;;
      esac
      ;;
    esac
  done
  COMPREPLY=()
  case "$path $previous" in
  *' --profile') words=$(${profileNames}) ;;
${values.join('\n')}
  *)
    case $path in
${commands.map(bashCommand).join('\n')}
    esac
    ;;
  esac
  case $cur in
  -*) words="$options ${flagsOf(commands[0])}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _reveille reveille
`;
}

/** An option without fixed values is left to the shell, which offers file names. */
function bashValues(path: string, { flags, takesValue, choices, value }: CompletedOption): string[] {
  if (!takesValue || value === 'profile') return [];
  const patterns = flags
    .map((flag) => (path === '' ? `*${quoted(` ${flag}`)}` : quoted(`${path} ${flag}`)))
    .join(' | ');
  return [
    choices === null ? `  ${patterns}) return ;;` : `  ${patterns}) words=${quoted(choices.join(' '))} ;;`,
  ];
}

function bashCommand(command: CompletedCommand): string {
  const { path, commands, choices } = command;
  const words = [...commands.map(({ name }) => name), ...choices].join(' ');
  const options = path === '' ? '' : flagsOf(command);
  return `    ${quoted(path)}) words=${quoted(words)} options=${quoted(options)} ;;`;
}

function flagsOf(command: CompletedCommand | undefined): string {
  return (command?.options ?? []).flatMap(({ flags }) => flags).join(' ');
}

function fishScript(commands: readonly CompletedCommand[]): string {
  return `function __reveille_at
    set -l path ''
    set -l words (commandline -opc)
    set -e words[1]
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
        else if contains -- $word ${valuedFlags(commands).join(' ')}
            set is_value 1
        else if contains -- "$path $word" ${pathsOf(commands).map(quoted).join(' ')}
            set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
complete -c reveille -f
${commands.flatMap(fishLines).join('\n')}
`;
}

function fishLines({ path, commands, options, choices, takesFile }: CompletedCommand): string[] {
  const line = `complete -c reveille -n ${quoted(`__reveille_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${line} -a ${name} -d ${quoted(description)}`),
    ...(choices.length === 0 ? [] : [`${line} -a ${quoted(choices.join(' '))}`]),
    ...(takesFile ? [`${line} -F`] : []),
    ...options.map((option) => `${path === '' ? 'complete -c reveille' : line} ${fishOption(option)}`),
  ];
}

function fishOption({ flags, description, takesValue, choices, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const listed = value === 'profile' ? `(${profileNames})` : choices?.join(' ');
  const kind = !takesValue ? [] : value === 'file' ? ['-r', '-F'] : ['-x'];
  const values = listed === undefined ? [] : [`-a ${quoted(listed)}`];
  return [...names, ...kind, ...values, `-d ${quoted(description)}`].join(' ');
}

function pathsOf(commands: readonly CompletedCommand[]): string[] {
  return commands.map(({ path }) => path).filter((path) => path !== '');
}

/** Quotes a word; fish reads a backslash within quotes as bash does outside of them. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

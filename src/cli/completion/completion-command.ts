/** `reveille completion`: prints the completion script for a shell. */
import { Argument, type Command } from 'commander';
import { newCommand, inContext, type CommandContext } from '../shell/command-context.ts';
import { completedCommands } from './completed-words.ts';
import { completionScript, shells } from './shell-scripts.ts';

/** `wholeProgram` builds the program with all commands. */
export function addCompletionCommand(program: Command, wholeProgram: () => Promise<Command>): void {
  newCommand(
    program,
    'completion',
    'Print a script that completes commands, options, choices and profiles.',
    'bash >~/.local/share/bash-completion/completions/reveille',
    ['zsh >~/.zfunc/_reveille', 'in a directory of fpath'],
    'fish >~/.config/fish/completions/reveille.fish',
  )
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action(
      inContext(async ({ output }: CommandContext, shell: (typeof shells)[number]) => {
        const script = completionScript(shell, completedCommands(await wholeProgram()));
        output.answer({ shell, script }, script.trimEnd());
      }),
    );
}

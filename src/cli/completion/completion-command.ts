/** `reveille completion`: the script by which a shell completes commands, options and their values. */
import { Argument, type Command } from 'commander';
import { addExamples, inContext, type CommandContext } from '../shell/command-context.ts';
import { completedCommands } from './completed-words.ts';
import { completionScript, shells } from './shell-scripts.ts';

/** `wholeProgram`: with all commands. */
export function addCompletionCommand(program: Command, wholeProgram: () => Promise<Command>): void {
  const command = program
    .command('completion')
    .description(
      'Print the script by which a shell completes the command line: commands, options, choices, profiles.',
    )
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(shells))
    .action(
      inContext(async ({ output }: CommandContext, shell: (typeof shells)[number]) => {
        const script = completionScript(shell, completedCommands(await wholeProgram()));
        output.answer({ shell, script }, script.trimEnd());
      }),
    );
  addExamples(
    command,
    ['completion bash >~/.local/share/bash-completion/completions/reveille', 'for every bash to come'],
    ['completion zsh >~/.zfunc/_reveille', 'for zsh, in a folder of its fpath'],
    ['completion fish >~/.config/fish/completions/reveille.fish', 'for fish'],
  );
}

/** The command line: `reveille <command>`. Exit codes: 0 done, 1 failed, 2 usage. Source: running.md, Command line. */
import { interruptUnread } from './cli/shell/command-context.ts';
import { asksForJson } from './cli/shell/output.ts';
import { describeFailure } from './cli/shell/failure-report.ts';
import { buildProgram } from './program.ts';
import { showableLines } from './lib/showable-text.ts';

// Without a listener, SIGUSR1 opens Node's inspector, by which any local user could read every secret in memory.
process.on('SIGUSR1', () => undefined);
// A closed pipe or terminal is not an error of this program.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  if (!interruptUnread()) process.exit(0);
});
process.stderr.on('error', () => undefined);

void run();

async function run(): Promise<void> {
  try {
    const program = await buildProgram(process.argv.slice(2));
    await program.parseAsync(process.argv);
  } catch (error) {
    const { exitCode, lines } = describeFailure(error, asksForJson(process.argv));
    for (const line of lines) process.stderr.write(`${showableLines(line)}\n`);
    process.exitCode = exitCode;
  }
}

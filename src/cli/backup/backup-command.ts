/** `reveille backup`: one file with everything a server needs to go on elsewhere, taken while it serves. */
import { once } from 'node:events';
import type { Command } from 'commander';
import {
  streamBackup,
  writeBackupFile,
  type BackupDeps,
  type WrittenBackup,
} from '../../storage/backup/backup-writer.ts';
import { examples, inLocalContext, untilInterrupted, type CommandContext } from '../shell/command-context.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { Pace, rowsInWords } from '../shell/pace.ts';
import { describeContent, sizeInWords } from './backup-view.ts';

/** In place of a file: standard output, or standard input. */
export const standardPipe = '-';

export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .description('Write a consistent copy of the data directory, with its secrets; a server may run on it.')
    .argument('<file>', 'replaced if it exists, readable by its owner only; - for a pipe')
    .addHelpText(
      'after',
      examples('backup /var/backups/reveille.backup', 'backup - | age -r RECIPIENT >reveille.backup.age'),
    )
    .action(inLocalContext(backUp));
}

async function backUp(context: CommandContext, file: string): Promise<void> {
  const { clock, output, dataDirectory } = context;
  const isPipe = file === standardPipe;
  if (isPipe && process.stdout.isTTY)
    throw usageError('a backup is not for a terminal: name a file, or send it into a pipe');
  const line = context.newProgressLine();
  const pace = new Pace(clock);
  const startedMs = clock.monotonicMs();
  await untilInterrupted(async (signal) => {
    const deps: BackupDeps = {
      nowMs: clock.wallMs(),
      signal,
      onProgress: ({ rows, rowsInAll }) => {
        if (!output.wantsJson) line.show(rowsInWords(pace, 'copying', rows, rowsInAll));
      },
    };
    try {
      const written = isPipe
        ? await streamBackup(dataDirectory, writeToPipe, deps)
        : await writeBackupFile(dataDirectory, file, deps);
      line.clear();
      report(context, file, written, clock.monotonicMs() - startedMs);
    } catch (error) {
      line.clear();
      if (signal.aborted) throw new CommandError('no backup was written', 'it was cancelled');
      throw error;
    }
  });
}

async function writeToPipe(piece: Buffer): Promise<void> {
  // What it was made of is used again.
  if (!process.stdout.write(Buffer.from(piece))) await once(process.stdout, 'drain');
}

function report(
  { output, dataDirectory }: CommandContext,
  file: string,
  { manifest, bytes, sha256 }: WrittenBackup,
  elapsedMs: number,
): void {
  const seconds = Number((elapsedMs / 1000).toFixed(3));
  const text =
    `backed up ${dataDirectory} in ${seconds.toFixed(1)} s: ${sizeInWords(bytes)}, ${describeContent(manifest)}\n` +
    `sha256 ${sha256}; it is as secret as the directory`;
  if (file === standardPipe) output.remark(text);
  else output.answer({ file, bytes, sha256, seconds, ...manifest }, text);
}

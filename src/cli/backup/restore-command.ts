/** `reveille restore`: a backup into an empty data directory, whole or not at all. */
import { accessSync, constants, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { restoreBackup, type RestoreDeps } from '../../storage/backup/backup-restore.ts';
import { backupPieceBytes } from '../../storage/lmdb/store-limits.ts';
import { examples, inLocalContext, untilInterrupted, type CommandContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { standardPipe } from './backup-command.ts';
import { Pace, rowsInWords } from '../shell/pace.ts';
import { describeContent } from './backup-view.ts';

export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .description('Restore a backup, whole or not at all, into a data directory that is empty or absent.')
    .argument('<file>', 'a backup; - for a pipe')
    .addHelpText('after', examples('restore reveille.backup --data-dir /var/lib/reveille'))
    .action(inLocalContext(restore));
}

async function restore(context: CommandContext, file: string): Promise<void> {
  const { clock, output, dataDirectory } = context;
  const startedMs = clock.monotonicMs();
  await readingBackup(context, file, 'restoring', async (source, deps) => {
    const manifest = await restoreBackup(source, dataDirectory, deps);
    const seconds = Number(((clock.monotonicMs() - startedMs) / 1000).toFixed(3));
    const text = `restored ${dataDirectory} in ${seconds.toFixed(1)} s: ${describeContent(manifest)}`;
    return () => {
      output.answer({ file, data_dir: dataDirectory, seconds, ...manifest }, text);
      output.remark(`start it: ${reveilleCommand('serve')}`);
    };
  });
}

type Source = AsyncIterable<Buffer>;

/** `act` resolves to how its answer is given. A cancelled one throws a CommandError. */
export async function readingBackup(
  context: CommandContext,
  file: string,
  verb: string,
  act: (source: Source, deps: RestoreDeps) => Promise<() => void>,
): Promise<void> {
  const line = context.newProgressLine();
  const pace = new Pace(context.clock);
  const isPipe = file === standardPipe;
  const bytes = isPipe ? null : sizeOf(file);
  await untilInterrupted(async (signal) => {
    const onProgress: RestoreDeps['onProgress'] = ({ phase, done, inAll }) => {
      if (!context.output.wantsJson && phase === 'restoring') line.show(rowsInWords(pace, verb, done, inAll));
    };
    const source: Source = isPipe ? process.stdin : readPieces(file);
    try {
      const answer = await act(source, { name: isPipe ? 'the pipe' : file, bytes, signal, onProgress });
      line.clear();
      answer();
    } catch (error) {
      line.clear();
      if (signal.aborted) throw new CommandError('cancelled, and nothing was made');
      throw error;
    }
  });
}

/** Bytes. Throws a CommandError when it cannot be read. */
function sizeOf(file: string): number {
  try {
    accessSync(file, constants.R_OK);
    const stats = statSync(file);
    if (stats.isDirectory()) throw new Error('it is a folder');
    return stats.size;
  } catch (error) {
    const reason = (error as Error).message;
    throw new CommandError(
      `the backup ${file} cannot be read: ${reason}`,
      'name a file that reveille backup wrote, or - for a pipe',
    );
  }
}

/** Opened when the first piece is asked for, so that a refusal before that leaves nothing open. */
async function* readPieces(file: string): AsyncGenerator<Buffer, void, undefined> {
  const handle = await open(file, 'r');
  try {
    for (;;) {
      const { bytesRead, buffer } = await handle.read(
        Buffer.allocUnsafe(backupPieceBytes),
        0,
        backupPieceBytes,
      );
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

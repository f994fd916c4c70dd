/** `reveille restore` and `reveille verify`: read a backup into an empty data directory, or check that it is complete. */
import { accessSync, constants, createReadStream, statSync } from 'node:fs';
import type { Command } from 'commander';
import { restoreBackup, type RestoreDeps, verifyBackup } from '../../storage/backup/backup-restore.ts';
import { backupPieceBytes } from '../../storage/lmdb/store-limits.ts';
import { newCommand, inLocalContext, type CommandContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { describeContent, standardPipe, withProgress } from './backup-command.ts';
import { Pace, rowsInWords, secondsSince } from '../shell/pace.ts';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

export function addRestoreCommand(program: Command): void {
  newCommand(
    program,
    'restore',
    'Restore a backup into an empty or absent data directory, completely or not at all.',
    'reveille.backup --data-dir /var/lib/reveille',
  )
    .argument('<file>', 'a backup; - for a pipe')
    .action(inLocalContext(restore));
}

async function restore(context: CommandContext, file: string): Promise<void> {
  const { clock, output, dataDirectory } = context;
  const startedMs = clock.monotonicMs();
  await readingBackup(context, file, 'restoring', async (source, deps) => {
    const manifest = await restoreBackup(source, dataDirectory, deps);
    const seconds = secondsSince(clock, startedMs);
    const text = `restored ${dataDirectory} in ${seconds.toFixed(1)} s: ${describeContent(manifest)}`;
    return () => {
      output.answer({ file, data_dir: dataDirectory, seconds, ...manifest }, text);
      output.remark(`start it: ${reveilleCommand('serve')}`);
    };
  });
}

type Source = AsyncIterable<Buffer>;

/** `act` resolves to a function that prints its answer. Throws a CommandError when cancelled. */
async function readingBackup(
  context: CommandContext,
  file: string,
  verb: string,
  act: (source: Source, deps: RestoreDeps) => Promise<() => void>,
): Promise<void> {
  const pace = new Pace(context.clock);
  const isPipe = file === standardPipe;
  const bytes = isPipe ? null : sizeOf(file);
  await withProgress(context, new CommandError('cancelled, nothing was created'), (signal, show) => {
    const onProgress: RestoreDeps['onProgress'] = ({ phase, done, inAll }) => {
      if (phase === 'restoring') show(rowsInWords(pace, verb, done, inAll));
    };
    const source: Source = isPipe ? process.stdin : readPieces(file);
    return act(source, { name: isPipe ? 'the pipe' : file, bytes, signal, onProgress });
  });
}

/** Bytes. Throws a CommandError if the file cannot be read. */
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

/** Opens the file only when the first chunk is requested, so that an earlier refusal leaves no file open. */
async function* readPieces(file: string): AsyncGenerator<Buffer, void, undefined> {
  yield* createReadStream(file, { highWaterMark: backupPieceBytes }) as AsyncIterable<Buffer>;
}

export function addVerifyCommand(program: Command): void {
  newCommand(
    program,
    'verify',
    'Verify a backup: check its checksum and format, then unpack and read its store.',
    'reveille.backup --scratch /mnt/large',
  )
    .argument('<file>', 'a backup; - for a pipe')
    .option(
      '--scratch <dir>',
      'the directory to unpack it in (default: that of the file, for a pipe the temporary one)',
    )
    .action(inLocalContext(verify));
}

async function verify(
  context: CommandContext,
  file: string,
  { scratch }: { readonly scratch?: string },
): Promise<void> {
  const { clock, output } = context;
  const isPipe = file === standardPipe;
  const place = resolve(scratch ?? (isPipe ? tmpdir() : dirname(file)));
  const startedMs = clock.monotonicMs();
  await readingBackup(context, file, 'unpacking', async (source, deps) => {
    const path = join(place, isPipe ? 'reveille' : basename(file));
    const manifest = await verifyBackup(source, path, deps);
    const seconds = secondsSince(clock, startedMs);
    const text = `${deps.name} is complete (${seconds.toFixed(1)} s): ${describeContent(manifest)}`;
    return () => output.answer({ file, seconds, ...manifest }, text);
  });
}

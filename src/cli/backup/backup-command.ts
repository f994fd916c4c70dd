/** `reveille backup`: writes one consistent file that restores the server elsewhere, while it serves. */
import { once } from 'node:events';
import type { Command } from 'commander';
import {
  passBackup,
  writeBackupFile,
  type BackupDeps,
  type WrittenBackup,
} from '../../storage/backup/backup-file.ts';
import {
  newCommand,
  inLocalContext,
  untilInterrupted,
  type CommandContext,
} from '../shell/command-context.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import { Pace, rowsInWords, secondsSince } from '../shell/pace.ts';
import { type BackupManifest, countRows } from '../../storage/backup/backup-format.ts';
import { counted } from '../shell/option-values.ts';
import { openBackupSource } from './backup-source.ts';

/** Stands for standard output or standard input instead of a file. */
export const standardPipe = '-';

export function addBackupCommand(program: Command): void {
  newCommand(
    program,
    'backup',
    'Write a consistent copy of the data directory, with its secrets; a server may run on it.',
    '/var/backups/reveille.backup',
    '- | age -r RECIPIENT >reveille.backup.age',
  )
    .argument('<file>', 'a new file with mode 0600; - for a pipe')
    .option('--force', 'replace the file if it exists')
    .action(inLocalContext(backUp));
}

async function backUp(
  context: CommandContext,
  file: string,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  const { clock, dataDirectory } = context;
  const isPipe = file === standardPipe;
  if (isPipe && process.stdout.isTTY)
    throw usageError('a backup cannot be written to a terminal: name a file, or use a pipe');
  const pace = new Pace(clock);
  const startedMs = clock.monotonicMs();
  const cancelled = new CommandError('no backup was written', 'it was cancelled');
  await withProgress(context, cancelled, async (signal, show) => {
    const deps: BackupDeps = {
      signal,
      replaces: force,
      onProgress: ({ rows, rowsInAll }) => show(rowsInWords(pace, 'copying', rows, rowsInAll)),
    };
    const source = await openBackupSource(dataDirectory, clock.wallMs(), signal);
    try {
      const written = await (isPipe
        ? passBackup(source.pieces, writeToPipe, deps)
        : writeBackupFile(file, source, deps));
      const seconds = secondsSince(clock, startedMs);
      return () => report(context, file, written, seconds);
    } finally {
      await source.close();
    }
  });
}

/** `act` resolves to a function that prints its answer, once the line of its progress is cleared. Throws `cancelled` when interrupted. */
export async function withProgress(
  context: CommandContext,
  cancelled: CommandError,
  act: (signal: AbortSignal, show: (progress: string) => void) => Promise<() => void>,
): Promise<void> {
  const line = context.newProgressLine();
  const show = (progress: string): void => {
    if (!context.output.wantsJson) line.show(progress);
  };
  await untilInterrupted(async (signal) => {
    try {
      const answer = await act(signal, show);
      line.clear();
      answer();
    } catch (error) {
      line.clear();
      throw signal.aborted ? cancelled : error;
    }
  });
}

async function writeToPipe(piece: Buffer): Promise<void> {
  if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
}

function report(
  { output, dataDirectory }: CommandContext,
  file: string,
  { manifest, bytes, sha256 }: WrittenBackup,
  seconds: number,
): void {
  const text =
    `backed up ${dataDirectory} in ${seconds.toFixed(1)} s: ${sizeInWords(bytes)}, ${describeContent(manifest)}\n` +
    `sha256 ${sha256}; keep it as secret as the directory`;
  if (file === standardPipe) output.remark(text);
  else output.answer({ file, bytes, sha256, seconds, ...manifest }, text);
}

/** `12 rows, 1 device, 3 events and 2 files of 2026-11-23T22:00:00.000Z, release 0.1.0, store format 1`. */
export function describeContent(manifest: BackupManifest): string {
  const { release, at, store_format: format, files } = manifest;
  const parts = [
    counted(rowsOf(manifest, 'registry', 'devices'), 'device'),
    counted(rowsOf(manifest, 'state', 'events'), 'event'),
    counted(countRows(manifest), 'row'),
    counted(files.length, 'file'),
  ];
  return `${parts.join(', ')}, of ${at}, release ${release}, store format ${format}`;
}

function rowsOf({ tables }: BackupManifest, file: string, name: string): number {
  return tables.find((table) => table.file === file && table.name === name)?.rows ?? 0;
}

/** `12.3 MB`. */
function sizeInWords(bytes: number): string {
  return bytes < 100_000 ? counted(bytes, 'byte') : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

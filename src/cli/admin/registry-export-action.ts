/** `registry export`: streamed, as fast as it is read; a file appears whole or not at all. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exportRegistry } from '../../storage/registry/registry-export.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { describeCounts } from './registry-import-action.ts';
import { lookIntoRegistry } from './registry-look.ts';

export interface ExportOptions {
  readonly withSecrets?: boolean;
  readonly format: 'json' | 'ndjson';
  readonly output?: string;
}

export async function exportRegistryFile(context: CommandContext, options: ExportOptions): Promise<void> {
  const { output: file, withSecrets = false } = options;
  const form = options.format === 'json' ? 'document' : 'ndjson';
  await lookIntoRegistry(context.dataDirectory, async (registry, tables) => {
    const pieces = Readable.from(exportRegistry(tables, { form, withSecrets }));
    if (file === undefined) return pipeline(pieces, process.stdout, { end: false });
    await writeWhole(pieces, file);
    const counts = registry.counts();
    const masked = withSecrets ? '' : '; secrets are masked: it cannot be imported';
    context.output.answer(
      { file, with_secrets: withSecrets, counts },
      `wrote ${describeCounts(counts)} to ${file}${masked}`,
    );
  });
}

async function writeWhole(pieces: Readable, file: string): Promise<void> {
  const own = `${file}.${process.pid}`;
  try {
    await pipeline(pieces, createWriteStream(own, { flags: 'wx', mode: 0o600 }));
    await rename(own, file);
  } catch (error) {
    await rm(own, { force: true });
    throw error;
  }
}

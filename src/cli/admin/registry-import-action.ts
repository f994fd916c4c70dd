/** `registry import`: through the running server's ops listener, or straight into the store at rest. */
import { accessSync, constants } from 'node:fs';
import { importOutcome } from '../../server/bootstrap/unasked-changes.ts';
import { importRegistry } from '../../storage/registry/registry-import.ts';
import type { ImportReport, ImportRequest } from '../../storage/registry/registry-import-messages.ts';
import { listNames, type KindName } from '../../storage/registry/registry-kinds.ts';
import { openStore } from '../../storage/lmdb/open-store.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { opsClientOf } from './ops-client.ts';
import { RestingAudit } from './resting-audit.ts';
import { findRunningServer } from './running-server.ts';

type Counts = ImportReport['counts'];
type OnProgress = (entries: number) => void;

export async function importRegistryFile(
  context: CommandContext,
  file: string,
  replace: boolean,
): Promise<void> {
  const { clock, output, dataDirectory } = context;
  accessSync(file, constants.R_OK);
  const running = findRunningServer(dataDirectory);
  const line = context.newProgressLine();
  const startedMs = clock.monotonicMs();
  const secondsSoFar = (): number => (clock.monotonicMs() - startedMs) / 1000;
  const onProgress: OnProgress = (entries) => {
    if (!output.wantsJson) line.show(`${entries} entries, ${rate(entries, secondsSoFar())} entries/s`);
  };
  try {
    const counts =
      running === null
        ? await importAtRest(context, { file, replace, skipUnchanged: false }, onProgress)
        : (await opsClientOf(running, dataDirectory).importFile<ImportReport>(file, replace, onProgress))
            .counts;
    line.clear();
    const seconds = secondsSoFar();
    const target = running === null ? dataDirectory : `the running server (process ${running.pid})`;
    output.answer(
      { file, replaced: replace, seconds: Number(seconds.toFixed(3)), counts },
      `${summary(counts, seconds)} into ${target}`,
    );
  } finally {
    line.clear();
  }
}

async function importAtRest(
  { clock, dataDirectory, settings }: CommandContext,
  request: ImportRequest,
  onProgress: OnProgress,
): Promise<Counts> {
  const store = openStore(dataDirectory);
  try {
    const ruled = { ...request, allowShortSecrets: settings.registry.allow_short_secrets };
    const audit = new RestingAudit(store.directory, clock);
    const result = await audit.record(
      'registry.import',
      { file: request.file, replace: request.replace },
      async () => importRegistry(store.registry, ruled, onProgress),
      importOutcome,
    );
    if (!result.ok) throw new CommandError(result.error.message, 'nothing was changed');
    return result.value.counts;
  } finally {
    await store.close();
  }
}

function summary(counts: Counts, seconds: number): string {
  const entries = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `imported ${describeCounts(counts)} in ${seconds.toFixed(1)} s (${rate(entries, seconds)} entries/s)`;
}

/** Only what there is. */
export function describeCounts(counts: Counts): string {
  const parts = (Object.entries(counts) as [KindName, number][])
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${count === 1 ? kind : listNames[kind]}`);
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function rate(entries: number, seconds: number): number {
  return Math.round(entries / Math.max(seconds, 0.001));
}

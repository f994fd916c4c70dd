/** The doctor's checks of the store and its registry: it opens, somebody may call, devices exist. */
import { wallSeconds } from '../../lib/clock.ts';
import { formatMoment } from '../shell/option-values.ts';
import type { Credential } from '../../model/registry.ts';
import { StoreFormatError } from '../../storage/lmdb/store-format.ts';
import type { KindName } from '../../storage/registry/registry-kinds.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { lookIntoRegistry } from '../admin/local-registry.ts';
import { chooseCredential } from '../api/credential-source.ts';
import { failing, inMegabytes, ok, warn, type Finding } from '../../server/health/finding.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { describeCounts } from '../registry/import-view.ts';

/** What the doctor sees in a store. */
export interface SeenRegistry {
  readonly counts: Readonly<Record<KindName, number>>;
  /** The first that is valid now; null: none is. */
  readonly credential: Credential | null;
  /** When the newest event happened; 0: nothing happened yet. */
  readonly newestMs: number;
  /** Size of the memory maps of its files, bytes; null: a running server has them. */
  readonly mapBytes: number | null;
}

/** `look` resolves to null where there is no store yet; rejects when it does not open. */
export async function checkRegistry(context: CommandContext, look = seeRegistry): Promise<Finding[]> {
  try {
    const seen = await look(context);
    if (seen === null) return [warn('store', 'there is none yet', firstStoreAdvice)];
    return [
      ok('store', seen.mapBytes === null ? 'is open in the server' : describeMap(seen.mapBytes)),
      ...judgeStoreClock(seen.newestMs, context.clock.wallMs()),
      ...judgeRegistry(seen, wallSeconds(context.clock)),
    ];
  } catch (error) {
    // The check of the server says the same.
    return error instanceof CommandError ? [] : [judgeStoreError(error as Error)];
  }
}

const firstStoreAdvice =
  'the first start makes it, and it stays empty where anything is configured: import a registry, or check that the disk is mounted';

async function seeRegistry({ clock, dataDirectory }: CommandContext): Promise<SeenRegistry | null> {
  if (!hasStore(dataDirectory)) return null;
  const need = { permissions: [], deviceId: null };
  return lookIntoRegistry(dataDirectory, async (registry) => ({
    counts: await registry.counts(),
    credential: await chooseCredential(registry, need, wallSeconds(clock)),
    newestMs: await registry.newestEventMs(),
    mapBytes: registry.mapBytes,
  }));
}

function describeMap(bytes: number): string {
  return `opens; its map of ${inMegabytes(bytes)} grows with it`;
}

/** Clocks of a cluster may differ a little. */
const clockToleranceMs = 60_000;

function judgeStoreClock(newestMs: number, nowMs: number): Finding[] {
  if (newestMs <= nowMs + clockToleranceMs) return [];
  const found = `the store has an event of ${new Date(newestMs).toISOString()}, which is to come: the clock was set back`;
  return [failing('store clock', found, 'set the clock and keep it by NTP')];
}

/** The sentence of a format says what to do; what else keeps a store from opening is damage. */
function judgeStoreError(error: Error): Finding {
  const isOfFormat = error instanceof StoreFormatError;
  const advice = isOfFormat
    ? 'the server does not start with this release'
    : 'restore the data directory from a backup';
  return failing('store', error.message, advice);
}

/** A credential that ends sooner gets a warning. */
const endsSoonS = 7 * 86_400;

function judgeRegistry({ counts, credential }: SeenRegistry, nowS: number): Finding[] {
  const importOne = `import one: ${reveilleCommand('registry import FILE')}`;
  const emptyAdvice = `${importOne}; or check that the disk of the data directory is mounted`;
  if (Object.values(counts).every((count) => count === 0))
    return [warn('registry', 'is empty: nobody can call and no device can log in', emptyAdvice)];
  const found = describeCounts(counts);
  const registry =
    counts.device === 0
      ? warn('registry', `${found}: no device can log in`, importOne)
      : ok('registry', found);
  return [registry, judgeCredential(credential, nowS)];
}

function judgeCredential(credential: Credential | null, nowS: number): Finding {
  const make = `make one: ${reveilleCommand('credential create --app APP')}`;
  if (credential === null) return failing('credential', 'none is valid now: nobody can call', make);
  const { accessKeyId, notAfter } = credential;
  if (notAfter === null || notAfter - nowS > endsSoonS) return ok('credential', `${accessKeyId} is valid`);
  const rotate = `rotate it: ${reveilleCommand(`credential rotate ${accessKeyId}`)}`;
  return warn('credential', `${accessKeyId} ends at ${formatMoment(notAfter, '')}`, rotate);
}

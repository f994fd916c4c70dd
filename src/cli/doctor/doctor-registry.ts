/** The doctor's checks of the store and its registry: the store opens, a credential is valid, devices exist. */
import { wallSeconds } from '../../lib/clock.ts';
import { formatMoment } from '../shell/option-values.ts';
import type { Credential } from '../../model/registry.ts';
import { StoreFormatError } from '../../storage/lmdb/store-format.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { withRegistry } from '../admin/local-registry.ts';
import { chooseCredential } from '../api/credential-source.ts';
import { failing, inMegabytes, ok, warn, type Finding } from '../../server/health/finding.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { describeCounts } from '../registry/import-view.ts';

export type SeenRegistry = NonNullable<Awaited<ReturnType<typeof seeRegistry>>>;

/** `read` resolves to null if there is no store yet; rejects if the store does not open. */
export async function checkRegistry(context: CommandContext, read = seeRegistry): Promise<Finding[]> {
  try {
    const seen = await read(context);
    if (seen === null) return [warn('store', 'does not exist yet', firstStoreAdvice)];
    return [
      ok('store', seen.mapBytes === null ? 'is open in the server' : describeMap(seen.mapBytes)),
      ...judgeStoreClock(seen.newestMs, context.clock.wallMs()),
      ...judgeRegistry(seen, wallSeconds(context.clock)),
    ];
  } catch (error) {
    // The server check reports the same problem.
    return error instanceof CommandError ? [] : [judgeStoreError(error as Error)];
  }
}

const firstStoreAdvice =
  'the first start creates it, empty if anything is configured: import a registry, or check that the disk is mounted';

async function seeRegistry({ clock, dataDirectory }: CommandContext) {
  if (!hasStore(dataDirectory)) return null;
  const need = { permissions: [], deviceId: null };
  return withRegistry(dataDirectory, async (registry) => ({
    counts: await registry.counts(),
    // The first that is valid now; null: none.
    credential: await chooseCredential(registry, need, wallSeconds(clock)),
    newestMs: await registry.newestEventMs(),
    mapBytes: registry.mapBytes,
  }));
}

function describeMap(bytes: number): string {
  return `opens; its map of ${inMegabytes(bytes)} grows with it`;
}

/** Clocks in a cluster may differ a little. */
const clockToleranceMs = 60_000;

function judgeStoreClock(newestMs: number, nowMs: number): Finding[] {
  if (newestMs <= nowMs + clockToleranceMs) return [];
  const found = `the store has an event of ${new Date(newestMs).toISOString()}, in the future: the clock was set back`;
  return [failing('store clock', found, 'set the clock, and synchronize it by NTP')];
}

/** A format error carries its own advice; any other error is treated as damage. */
function judgeStoreError(error: Error): Finding {
  const isOfFormat = error instanceof StoreFormatError;
  const advice = isOfFormat
    ? 'the server will not start with this release'
    : 'restore the data directory from a backup';
  return failing('store', error.message, advice);
}

/** A credential that expires sooner gets a warning. */
const endsSoonS = 7 * 86_400;

function judgeRegistry({ counts, credential }: SeenRegistry, nowS: number): Finding[] {
  const importOne = `import one: ${reveilleCommand('registry import FILE')}`;
  const emptyAdvice = `${importOne}; or check that the disk of the data directory is mounted`;
  if (Object.values(counts).every((count) => count === 0))
    return [warn('registry', 'is empty: no request and no login can succeed', emptyAdvice)];
  const found = describeCounts(counts);
  const registry =
    counts.device === 0
      ? warn('registry', `${found}: no device can log in`, importOne)
      : ok('registry', found);
  return [registry, judgeCredential(credential, nowS)];
}

function judgeCredential(credential: Credential | null, nowS: number): Finding {
  const make = `create one: ${reveilleCommand('credential create --app APP')}`;
  if (credential === null) return failing('credential', 'none is valid now: every request is refused', make);
  const { accessKeyId, notAfter } = credential;
  if (notAfter === null || notAfter - nowS > endsSoonS) return ok('credential', `${accessKeyId} is valid`);
  const rotate = `rotate it: ${reveilleCommand(`credential rotate ${accessKeyId}`)}`;
  return warn('credential', `${accessKeyId} expires at ${formatMoment(notAfter, '')}`, rotate);
}

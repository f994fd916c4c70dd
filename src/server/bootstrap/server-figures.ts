/** Figures that a server has once, read at a scrape: none blocks the loop or waits for long. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { completesWithin, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { ServerFigures, WebhookFigures } from '../../telemetry/gauges.ts';
import { storeFileNames } from '../../storage/lmdb/store-format.ts';
import type { Store } from '../../storage/lmdb/open-store.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { CertificatesInForce } from '../config/certificates-in-force.ts';

export interface LiveFiguresDeps {
  readonly certificates: Pick<CertificatesInForce, 'expiriesS'>;
  readonly clock: Clock;
  readonly store: Pick<Store, 'directory' | 'registry' | 'state'>;
  readonly registry: Pick<RegistryStore, 'counts'>;
  /** May never resolve. */
  readonly webhookBacklog: () => Promise<Result<WebhookFigures, unknown>>;
}

/** A scrape omits figures of a disk or thread that hangs for longer, milliseconds. */
const figureMsMax = 1000;

export function liveFigures({
  certificates,
  clock,
  store,
  registry,
  webhookBacklog,
}: LiveFiguresDeps): ServerFigures {
  const inTime = async <Value>(figure: Promise<Value>): Promise<Value | null> =>
    (await completesWithin(clock, figureMsMax, figure)) ? figure : null;
  const askWebhooks = async (): Promise<WebhookFigures | null> => {
    const asked = await inTime(webhookBacklog());
    return asked?.ok === true ? asked.value : null;
  };
  // The request of the current scrape, shared by its gauges.
  let asking: Promise<WebhookFigures | null> | null = null;
  return {
    async storeBytes() {
      const bytes = Object.entries(storeFileNames).map(async ([name, file]) => {
        const found = await inTime(stat(join(store.directory, file)));
        return found === null ? [] : [[name, found.size]];
      });
      return Object.fromEntries((await Promise.all(bytes)).flat());
    },
    storeMapBytes: () => ({
      registry: store.registry.environment.mapBytes,
      state: store.state.environment.mapBytes,
    }),
    async disk() {
      const found = await inTime(statfs(store.directory));
      return found && { freeBytes: found.bavail * found.bsize, bytes: found.blocks * found.bsize };
    },
    registryEntries: () => registry.counts(),
    webhooks: () => (asking ??= askWebhooks().finally(() => (asking = null))),
    certificateExpiriesS: () => certificates.expiriesS(),
  };
}

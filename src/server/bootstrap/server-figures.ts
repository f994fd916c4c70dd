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

export class LiveFigures implements ServerFigures {
  readonly #deps: LiveFiguresDeps;
  /** The request of the current scrape, shared by its gauges. */
  #asking: Promise<WebhookFigures | null> | null = null;

  constructor(deps: LiveFiguresDeps) {
    this.#deps = deps;
  }

  async storeBytes(): Promise<Readonly<Record<string, number>>> {
    const bytes = Object.entries(storeFileNames).map(async ([name, file]) => {
      const found = await this.#inTime(stat(join(this.#deps.store.directory, file)));
      return found === null ? [] : [[name, found.size]];
    });
    return Object.fromEntries((await Promise.all(bytes)).flat());
  }

  storeMapBytes(): Readonly<Record<string, number>> {
    const { registry, state } = this.#deps.store;
    return { registry: registry.environment.mapBytes, state: state.environment.mapBytes };
  }

  async disk(): Promise<{ readonly freeBytes: number; readonly bytes: number } | null> {
    const found = await this.#inTime(statfs(this.#deps.store.directory));
    if (found === null) return null;
    return { freeBytes: found.bavail * found.bsize, bytes: found.blocks * found.bsize };
  }

  registryEntries(): Readonly<Record<string, number>> {
    return this.#deps.registry.counts();
  }

  webhooks(): Promise<WebhookFigures | null> {
    this.#asking ??= this.#askWebhooks().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  certificateExpiriesS(): Readonly<Record<string, number>> {
    return this.#deps.certificates.expiriesS();
  }

  async #askWebhooks(): Promise<WebhookFigures | null> {
    const asked = await this.#inTime(this.#deps.webhookBacklog());
    return asked?.ok === true ? asked.value : null;
  }

  async #inTime<Value>(figure: Promise<Value>): Promise<Value | null> {
    return (await completesWithin(this.#deps.clock, figureMsMax, figure)) ? await figure : null;
  }
}

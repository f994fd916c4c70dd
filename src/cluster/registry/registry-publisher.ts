/**
 * Puts this node's changes of the registry into the bucket that all nodes mirror: in their order, thousands under way. Of
 * several changes of one entry only the last one of a batch is put, so that an older one never replaces a newer, whatever
 * part of a batch fails and is put again. Source: cluster.md, Registry.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { MirroredRegistry, RegistryChange } from '../../core/ports/mirrored.ts';
import { registryRetryMs, registrySharingMax, tailProgressMs } from '../events/log-limits.ts';
import { encodeRegistryChange, registryKey } from './registry-change.ts';

export interface RegistryPublisherDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly registry: Pick<MirroredRegistry, 'unshared' | 'shared' | 'follow'>;
  /** Resolves to its position, when the bucket has it; puts take effect in the order of their calls. Rejects while NATS is unavailable. */
  readonly put: (key: string, value: Uint8Array) => Promise<number>;
}

interface Share {
  readonly change: RegistryChange;
  /** The places of this change, and of those before it that it makes void. */
  readonly places: number[];
}

export class RegistryPublisher {
  readonly #deps: RegistryPublisherDeps;
  #isStopped = false;
  #isDue = false;
  #isHealthy = true;
  #run: Promise<void> | null = null;
  #unfollow: Cancel = () => undefined;
  #cancelRetry: Cancel = () => undefined;
  #sharedSince = 0;
  #loggedMs = 0;

  constructor(deps: RegistryPublisherDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unfollow = this.#deps.registry.follow(() => this.poke());
    this.poke();
  }

  /** Call it when there may be something to share, or NATS is back. */
  poke(): void {
    this.#isDue = true;
    if (!this.#isStopped) this.#run ??= this.#share();
  }

  /** Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unfollow();
    this.#cancelRetry();
    await this.#run;
  }

  async #share(): Promise<void> {
    this.#cancelRetry();
    this.#sharedSince = 0;
    this.#loggedMs = this.#deps.clock.monotonicMs();
    try {
      while (this.#isDue && !this.#isStopped) {
        this.#isDue = false;
        while (!this.#isStopped && (await this.#shareSome()));
      }
      this.#logHealth(null);
    } catch (error) {
      this.#logHealth(error);
      this.#isDue = false;
      if (!this.#isStopped) this.#cancelRetry = this.#deps.clock.after(registryRetryMs, () => this.poke());
    }
    this.#run = null;
    if (this.#isDue) this.poke();
  }

  /** False: nothing is left. */
  async #shareSome(): Promise<boolean> {
    const { registry, put } = this.#deps;
    const unshared = registry.unshared(registrySharingMax);
    if (unshared.length === 0) return false;
    const shares = sharesOf(unshared);
    const puts = Array.from(shares, ([key, { change }]) => put(key, encodeRegistryChange(change)));
    const settled = await Promise.allSettled(puts);
    const places = Array.from(shares.values()).flatMap((share, at) => {
      const done = settled[at];
      if (done?.status !== 'fulfilled') return [];
      return share.places.map((place) => ({ place, position: done.value }));
    });
    if (places.length > 0) await registry.shared(places);
    this.#logProgress(places.length);
    const failed = settled.find((put) => put.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return true;
  }

  #logProgress(count: number): void {
    const { clock, log } = this.#deps;
    this.#sharedSince += count;
    if (clock.monotonicMs() - this.#loggedMs < tailProgressMs) return;
    this.#loggedMs = clock.monotonicMs();
    log.info({ shared: this.#sharedSince }, 'changes of the registry are being shared');
  }

  #logHealth(failure: unknown): void {
    const isHealthy = failure === null;
    if (isHealthy === this.#isHealthy) return;
    this.#isHealthy = isHealthy;
    const { log } = this.#deps;
    if (isHealthy) log.info({}, 'changes of the registry are shared again');
    else log.warn({ err: failure }, 'changes of the registry cannot be shared now; they wait');
  }
}

function sharesOf(
  unshared: readonly { readonly place: number; readonly change: RegistryChange }[],
): Map<string, Share> {
  const shares = new Map<string, Share>();
  for (const { place, change } of unshared) {
    const key = registryKey(change);
    const places = shares.get(key)?.places ?? [];
    places.push(place);
    shares.delete(key);
    shares.set(key, { change, places });
  }
  return shares;
}

/**
 * Mirrors the bucket of the registry into this node's own tables, from which it reads, also while NATS is unavailable: each
 * entry as it was last written. Source: cluster.md, Registry.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { completesWithin } from '../../lib/clock.ts';
import type { MirroredRegistry, SharedRegistryChange } from '../../core/ports/mirrored.ts';
import { registryPerCommitMax } from '../events/log-limits.ts';
import { decodeRegistryChange } from './registry-change.ts';
import { StreamTail, type TailMessage, type TailSource } from '../events/stream-tail.ts';

export interface RegistryMirrorDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly source: TailSource;
  readonly registry: Pick<MirroredRegistry, 'position' | 'apply'>;
}

export class RegistryMirror {
  readonly #deps: RegistryMirrorDeps;
  readonly #tail: StreamTail;

  constructor(deps: RegistryMirrorDeps) {
    const { source, registry, clock, log } = deps;
    this.#deps = deps;
    this.#tail = new StreamTail({
      source,
      clock,
      log,
      position: () => registry.position,
      write: (messages) => this.#write(messages),
      batchMax: registryPerCommitMax,
      madeAnew: () => this.#startOver(),
    });
  }

  /** The number of changes known to be missing here. */
  get lag(): number {
    return this.#tail.behind;
  }

  start(): void {
    this.#tail.start();
  }

  /** Resolves when nothing more is written. */
  stop(): Promise<void> {
    return this.#tail.stop();
  }

  /** True when all that the bucket has is here; false after `waitMs`: a node without NATS starts with what it has. */
  async caughtUp(waitMs: number): Promise<boolean> {
    let unfollow = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      unfollow = this.#tail.onProgress(() => this.#tail.isCaughtUp && resolve());
      if (this.#tail.isCaughtUp) resolve();
    });
    const isDone = await completesWithin(this.#deps.clock, waitMs, done);
    unfollow();
    return isDone;
  }

  async #write(messages: readonly TailMessage[]): Promise<void> {
    const { registry, log } = this.#deps;
    const changes: SharedRegistryChange[] = [];
    let position = registry.position;
    for (const { sequence, data } of messages) {
      const decoded = decodeRegistryChange(data);
      if (decoded.ok) changes.push({ ...decoded.value, position: sequence });
      else
        log.error({ sequence, fault: decoded.error }, 'the shared registry has something that is no entry');
      position = sequence;
    }
    await registry.apply(changes, position);
  }

  /** The entries here stay, and those of the new bucket replace them. */
  async #startOver(): Promise<void> {
    const { registry, log } = this.#deps;
    log.error(
      { position: registry.position },
      'the registry of NATS was made anew; this node keeps what it has: import the registry again to share it',
    );
    await registry.apply([], 0);
  }
}

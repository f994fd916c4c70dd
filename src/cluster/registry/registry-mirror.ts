/**
 * Mirrors the bucket of the registry into this node's own tables, from which it reads, also while NATS is unavailable: each
 * entry as it was last written. Source: cluster.md, Registry.
 */
import { completesWithin } from '../../lib/clock.ts';
import type { MirroredRegistry, SharedRegistryChange } from '../../core/ports/mirrored.ts';
import { registryPerCommitMax } from '../events/log-limits.ts';
import { decodeRegistryChange } from './registry-change.ts';
import { StreamTail, type TailDeps, type TailMessage } from '../events/stream-tail.ts';

export interface RegistryMirrorDeps extends TailDeps {
  readonly registry: Pick<MirroredRegistry, 'position' | 'apply'>;
}

export class RegistryMirror extends StreamTail<RegistryMirrorDeps> {
  protected readonly batchMax = registryPerCommitMax;

  get position(): number {
    return this.deps.registry.position;
  }

  /** True when all that the bucket has is here; false after `waitMs`: a node without NATS starts with what it has. */
  async caughtUp(waitMs: number): Promise<boolean> {
    let unfollow = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      unfollow = this.onProgress(() => this.isCaughtUp && resolve());
      if (this.isCaughtUp) resolve();
    });
    const isDone = await completesWithin(this.deps.clock, waitMs, done);
    unfollow();
    return isDone;
  }

  protected async write(messages: readonly TailMessage[]): Promise<void> {
    const { registry, log } = this.deps;
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
  protected async recreated(): Promise<void> {
    const { registry, log } = this.deps;
    log.error(
      { position: registry.position },
      'the registry of NATS was made anew; this node keeps what it has: import the registry again to share it',
    );
    await registry.apply([], 0);
  }
}

/**
 * What one member does with the bucket of leases, so that a test lets time go by only when everything that was written
 * before has been seen: JetStream answers when it does, whatever a driven clock says.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { MembersStore } from '../../src/cluster/membership/nats-leases.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';

export class ObservedLeases {
  /** To give to who is observed. */
  readonly kv: MembersStore;
  readonly #link: NatsLink;
  readonly #real: NatsKvStore;
  #pending = 0;
  /** Null: it does not watch. */
  #seen: number | null = null;

  constructor(link: NatsLink) {
    const real = new NatsKvStore(link, 'members', new SystemClock());
    this.#link = link;
    this.#real = real;
    this.kv = {
      find: (...args) => this.#count(real.find(...args)),
      compareAndSet: (...args) => this.#count(real.compareAndSet(...args)),
      remove: (...args) => this.#count(real.remove(...args)),
      erase: (revision) => real.erase(revision),
      watch: (onChange) => this.#count(this.#watch(onChange)),
    };
  }

  /** Resolves when nothing is under way, and all that was written by anyone has been seen. */
  async settled(): Promise<void> {
    await this.#idle();
    if (this.#link.isUnavailable || this.#seen === null) return;
    const newest = await this.#real.position();
    while (this.#seen !== null && this.#seen < newest && !this.#link.isUnavailable) await turn();
    await this.#idle();
  }

  async #idle(): Promise<void> {
    do await turn();
    while (this.#pending > 0);
  }

  async #watch(onChange: Parameters<MembersStore['watch']>[0]): Promise<() => void> {
    this.#seen = 0;
    const stop = await this.#real.watch((change) => {
      this.#seen = change.revision;
      onChange(change);
    });
    return () => {
      this.#seen = null;
      stop();
    };
  }

  async #count<Value>(work: Promise<Value>): Promise<Value> {
    this.#pending++;
    try {
      return await work;
    } finally {
      this.#pending--;
    }
  }
}

/**
 * Saves heartbeats from memory to the store: each second a slice of the devices, all of them within `roundSeconds`. A crash loses
 * at most a minute of times, and a million devices cause no burst of writes. Source: decisions.md, Connectivity.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { connectionKinds } from '../../model/cluster.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';

const roundSeconds = 30;

export class HeartbeatSaver {
  readonly #directory: DeviceDirectory;
  #round: IterableIterator<DeviceActor>;
  #seenInRound = 0;

  constructor(directory: DeviceDirectory) {
    this.#directory = directory;
    this.#round = directory.actors();
  }

  start(clock: Clock): Cancel {
    return clock.every(1000, () => this.saveSlice());
  }

  /**
   * Saves one second's share of the devices. A round ends after as many devices as there are, not at the last one: if devices
   * connect as fast as the iterator advances, it never reaches the last, and the first would starve.
   */
  saveSlice(): void {
    const slice = Math.ceil(this.#directory.size / roundSeconds);
    for (let i = 0; i < slice; i++) {
      const next = this.#round.next();
      if (next.done === true) return this.#beginRound();
      saveHeartbeat(next.value);
      this.#seenInRound += 1;
    }
    if (this.#seenInRound >= this.#directory.size) this.#beginRound();
  }

  saveAll(): void {
    for (const actor of this.#directory.actors()) saveHeartbeat(actor);
  }

  #beginRound(): void {
    this.#round = this.#directory.actors();
    this.#seenInRound = 0;
  }
}

function saveHeartbeat(actor: DeviceActor): void {
  for (const to of connectionKinds) {
    const heartbeatAt = actor.heartbeatAt(to);
    if (heartbeatAt > 0) actor.post({ to, event: { kind: 'heartbeat', heartbeatAt } });
  }
}

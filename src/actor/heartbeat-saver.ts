/**
 * Heartbeats are kept in memory and written to the store in passing: every second a slice of the devices, all of
 * them within `roundSeconds`, so that a crash loses at most the last minute of stamps and a full house causes
 * no burst of writes. Source: decisions.md, Connectivity.
 */
import type { Cancel, Clock } from '../base/clock.ts';
import type { DeviceActor } from './device-actor.ts';
import type { DeviceDirectory } from './device-directory.ts';

const roundSeconds = 30;

export class HeartbeatSaver {
  readonly #directory: DeviceDirectory;
  #round: IterableIterator<DeviceActor> | null = null;

  constructor(directory: DeviceDirectory) {
    this.#directory = directory;
  }

  start(clock: Clock): Cancel {
    return clock.every(1000, () => this.saveSlice());
  }

  /** One second's share of the devices. */
  saveSlice(): void {
    this.#round ??= this.#directory.actors();
    const slice = Math.ceil(this.#directory.size / roundSeconds);
    for (let i = 0; i < slice; i++) {
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = null;
        return;
      }
      saveHeartbeat(next.value);
    }
  }

  /** Every device, for an orderly stop. */
  saveAll(): void {
    for (const actor of this.#directory.actors()) saveHeartbeat(actor);
  }
}

function saveHeartbeat(actor: DeviceActor): void {
  actor.post({ event: { kind: 'note-heartbeat', heartbeatAt: actor.heartbeatAt } });
}

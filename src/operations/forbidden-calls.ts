/**
 * Ends the calls of devices that the registry does not have any more, or has disabled: asked for after every change
 * of the registry. So many calls a turn, so that frames and logins come in between, however many there are.
 */
import type { CallDirectory } from '../actor/call-directory.ts';
import type { Cancel, Clock } from '../base/clock.ts';
import type { CallSession } from '../domain/call.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

interface ForbiddenCallsHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: CallDirectory;
  readonly log: Log;
}

/** About 2 ms, at 4 µs to read a device that is not in memory. */
const callsPerTurn = 500;

export class ForbiddenCalls {
  readonly #house: ForbiddenCallsHouse;
  #cancel: Cancel | null = null;

  constructor(house: ForbiddenCallsHouse) {
    this.#house = house;
  }

  /** The first of them now, the others in the turns that follow. A pass that is under way is begun anew. */
  end(): void {
    this.#cancel?.();
    this.#lookOn(this.#house.directory.sessions());
  }

  #lookOn(sessions: Iterator<CallSession>): void {
    try {
      for (let looked = 0; looked < callsPerTurn; looked++) {
        const next = sessions.next();
        if (next.done === true) return;
        this.#judge(next.value);
      }
    } catch (error) {
      return this.#house.log.error({ err: error }, 'whose calls are forbidden cannot be read');
    }
    this.#cancel = this.#house.clock.after(0, () => this.#lookOn(sessions));
  }

  #judge({ sessionId, deviceId }: CallSession): void {
    const { registry, directory } = this.#house;
    const device = registry.peekDevice(deviceId);
    if (device === null || device.disabled) directory.end(sessionId, 'error');
  }
}

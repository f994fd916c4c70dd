/** Checks a log that several processes wrote by a naive replay: it tracks the owner of each slot and the events allowed next. */
import type { LoggedEvent } from '../../src/model/events.ts';
import { faultOf } from './journal-model.ts';

interface Chair {
  epoch: number;
  /** Current session; null: none. */
  session: string | null;
}

export class SharedReplay {
  readonly sessions = new Set<string>();
  readonly #chairs = new Map<string, Chair>();

  /** The slot of a device and connection kind at the end of the log. */
  chairOf(kind: string, deviceId: string): Chair {
    const key = `${kind} ${deviceId}`;
    const chair = this.#chairs.get(key) ?? { epoch: 0, session: null };
    this.#chairs.set(key, chair);
    return chair;
  }

  /** The first fault in the whole log; null: none. */
  faultOf(events: readonly LoggedEvent[]): string | null {
    const fault = faultOf(events);
    if (fault !== null) return fault;
    for (const event of events) {
      const wrong = this.#step(event);
      if (wrong !== null) return `event ${event.sequence} ${wrong}`;
    }
    return null;
  }

  #step({ type, deviceId, epoch, data }: LoggedEvent): string | null {
    if (!('node' in data)) return null;
    const chair = this.chairOf(type.split('.')[1] ?? '', deviceId);
    if ('reason' in data) {
      const [was, had] = [chair.session, chair.epoch];
      chair.session = null;
      return was === data.session && had === epoch ? null : 'ends a session that does not sit';
    }
    if (this.sessions.has(data.session)) return 'tells a login again';
    if (epoch !== chair.epoch + 1) return `has the epoch ${epoch} after ${chair.epoch}`;
    if (data.replaced !== (chair.session !== null)) return 'is wrong about whom it replaced';
    this.sessions.add(data.session);
    [chair.epoch, chair.session] = [epoch, data.session];
    return null;
  }
}

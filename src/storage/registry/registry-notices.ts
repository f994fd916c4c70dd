/**
 * Registry events on their way to the event log, which is another file. A notice is put in the transaction that changes its device,
 * and removed once the log has its event. The log stores the place of the newest notice in the transaction of its event, so a crash
 * between the two loses no event and repeats none.
 */
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId, ProductId } from '../../model/ids.ts';
import type { RegistryNotice } from '../../model/state/registry-event.ts';
import { countEntries, type Environment, type Table } from '../lmdb/environment.ts';
import { eventKey as placeKey, sequenceOf as placeOf } from '../events/event-rows.ts';

/** `data` is JSON text. Add fields at the end only. */
type NoticeRow = readonly [type: string, deviceId: string, productId: string, atMs: number, data: string];

export interface PlacedNotice extends RegistryNotice {
  /** Ascending, never reused. */
  readonly place: number;
}

const lastKey = Buffer.from('last');

export class RegistryNotices {
  readonly #environment: Environment;
  readonly #notices: Table<NoticeRow>;
  /** One row: the highest place ever assigned. */
  readonly #places: Table<number>;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#notices = environment.table('registry-notices');
    this.#places = environment.table('registry-notice-places');
  }

  get length(): number {
    return countEntries(this.#notices);
  }

  get lastPlace(): number {
    return this.#places.get(lastKey) ?? 0;
  }

  /** Inside a transaction of the registry only. */
  put(notices: readonly RegistryNotice[]): void {
    if (notices.length === 0) return;
    let place = this.lastPlace;
    for (const { productId, event } of notices) {
      const { type, deviceId, atMs, data } = event;
      const row: NoticeRow = [type, deviceId, productId, atMs, JSON.stringify(data)];
      void this.#notices.put(placeKey(++place), row);
    }
    void this.#places.put(lastKey, place);
  }

  read(limit: number): PlacedNotice[] {
    this.#environment.refresh();
    return Array.from(this.#notices.getRange({ limit }), ({ key, value }) =>
      decodeNotice(placeOf(key), value),
    );
  }

  /** Removes notices up to and including place `last`; later ones get higher places, even if the file has lost some. */
  async forget(last: number): Promise<void> {
    await this.#environment.transaction(() => {
      for (const key of Array.from(this.#notices.getKeys({ end: placeKey(last + 1) })))
        void this.#notices.remove(key);
      if (this.lastPlace < last) void this.#places.put(lastKey, last);
    });
  }
}

function decodeNotice(place: number, [type, deviceId, productId, atMs, data]: NoticeRow): PlacedNotice {
  const parsed: unknown = JSON.parse(data);
  const event = { type, data: parsed, deviceId: deviceId as DeviceId, atMs, epoch: null } as EventDraft;
  return { place, productId: productId as ProductId, event: event as RegistryNotice['event'] };
}

/**
 * The webhooks' delivery store in the bucket that all nodes share: written by the node that delivers, with every change of
 * its own store and before it, and read by the one that takes over. The cursor there is never ahead of a failed event that it has
 * passed: what a crash leaves is at worst delivered twice. Source: events.md, Webhooks; cluster.md, Events.
 */
import type { Log } from '../../lib/log.ts';
import type { HookChanges, HookRecord } from '../../core/ports/delivery-store.ts';
import { decodeHookEntry, encodeHookEntry, type HookEntry } from './hook-entry.ts';
import { deliveryPutsMax } from '../events/log-limits.ts';
import { hashedKey } from '../nats/nats-names.ts';
import type { KvStore } from '../nats/kv-store.ts';

export interface NatsDeliveryStoreDeps {
  readonly kv: KvStore;
  readonly log: Log;
  /** This node is the one that delivers. */
  readonly mayWrite: () => boolean;
}

type Put = readonly [key: string, entry: HookEntry];
type KeptEntry = Extract<HookEntry, { readonly kind: 'failed' | 'parked' }>;
/** By the hook's number. */
type Hooks = ReadonlyMap<number, { readonly id: string; readonly record: HookRecord }>;

const hookKeys = 'hook.';
const placeKeys = 'kept.';
const free: HookEntry = { kind: 'free' };

export class NatsDeliveryStore {
  readonly #deps: NatsDeliveryStoreDeps;
  #places = new DeliveryRevisions();

  constructor(deps: NatsDeliveryStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Hands over all that is there as changes of an empty store, a bounded number of entries at a time. Call it when this
   * node has become the one that delivers, before the first `keep`. Rejects with SharedStateUnavailable.
   */
  async load(take: (changes: readonly HookChanges[]) => Promise<void>): Promise<void> {
    this.#places = new DeliveryRevisions();
    const hooks = await this.#hooks();
    const parked = new Map<number, number>();
    const gone: number[] = [];
    let kept: KeptEntry[] = [];
    for await (const [key, entry] of this.#entries(placeKeys)) {
      const place = Number(key.slice(placeKeys.length));
      if (entry.kind === 'free' || entry.kind === 'hook') this.#places.addFree(place);
      else if (!isWorthTaking(hooks.get(entry.number)?.record, entry)) gone.push(place);
      else {
        this.#places.add(entry.number, nameOf(entry), place);
        if (entry.kind === 'parked') parked.set(entry.number, (parked.get(entry.number) ?? 0) + 1);
        kept.push(entry);
      }
      if (kept.length < deliveryPutsMax) continue;
      await take(grouped(hooks, kept));
      kept = [];
    }
    await take(grouped(hooks, kept));
    // A crash may have come between an event that was parked and the record that counts it.
    await take(
      Array.from(hooks, ([number, { id, record }]) =>
        changesOf(id, { ...record, parked: parked.get(number) ?? 0 }, []),
      ),
    );
    await this.#putAll(gone.map((place) => [placeKeys + place, free]));
    for (const place of gone) this.#places.addFree(place);
  }

  /** All of it, or it rejects and may be asked again. Those that are trimmed have to be named in `parked`. */
  async keep(changes: readonly HookChanges[]): Promise<void> {
    const living = changes.filter(({ record }) => record !== null);
    await this.#putAll(living.flatMap((change) => this.#entriesOf(change)));
    await this.#putAll(changes.map(recordOf));
    for (const change of changes) await this.#leave(change);
  }

  #entriesOf({ number, failed, parked }: HookChanges): Put[] {
    const entries: KeptEntry[] = [];
    for (const kept of failed.values()) if (kept !== null) entries.push({ kind: 'failed', number, kept });
    for (const kept of parked.values()) if (kept !== null) entries.push({ kind: 'parked', number, kept });
    return entries.map((entry) => [placeKeys + this.#places.take(number, nameOf(entry)), entry]);
  }

  async #leave({ number, record, failed, parked }: HookChanges): Promise<void> {
    if (record === null) {
      await this.#putAll(this.#places.all(number).map((place) => [placeKeys + place, free]));
      return this.#places.leaveAll(number);
    }
    const gone: DeliveryEntryName[] = [...goneOf('failed', failed), ...goneOf('parked', parked)];
    const places = gone.flatMap((name) => this.#places.find(number, name) ?? []);
    await this.#putAll(places.map((place) => [placeKeys + place, free]));
    for (const name of gone) this.#places.leave(number, name);
  }

  async #putAll(puts: readonly Put[]): Promise<void> {
    const { kv, mayWrite } = this.#deps;
    for (let at = 0; at < puts.length; at += deliveryPutsMax) {
      if (!mayWrite()) throw new Error('another node may deliver the webhooks now: the store is its');
      const some = puts.slice(at, at + deliveryPutsMax);
      await Promise.all(some.map(([key, entry]) => kv.put(key, encodeHookEntry(entry))));
    }
  }

  async #hooks(): Promise<Hooks> {
    const hooks = new Map<number, { readonly id: string; readonly record: HookRecord }>();
    for await (const [, entry] of this.#entries(hookKeys))
      if (entry.kind === 'hook') hooks.set(entry.record.number, entry);
    return hooks;
  }

  async *#entries(prefix: string): AsyncGenerator<Put, void, undefined> {
    for await (const { key, value } of this.#deps.kv.all()) {
      if (!key.startsWith(prefix)) continue;
      const decoded = decodeHookEntry(value);
      if (decoded.ok) yield [key, decoded.value];
      else
        this.#deps.log.error(
          { key, fault: decoded.error },
          'the shared delivery store of the webhooks has an entry that cannot be read',
        );
    }
  }
}

/**
 * Nothing that a dropped hook has left; and no event ahead of the cursor that was never tried: its node may have died
 * before the earlier ones of its device were written, so it is read from the log again, in its turn.
 */
function isWorthTaking(record: HookRecord | undefined, entry: KeptEntry): boolean {
  if (record === undefined) return false;
  const isUntried = entry.kind === 'failed' && entry.kept.attempts === 0;
  return !isUntried || entry.kept.event.sequence <= record.cursor;
}

function recordOf({ id, record }: HookChanges): Put {
  return [hookKeys + hashedKey(id), record === null ? free : { kind: 'hook', id, record }];
}

function nameOf({ kind, kept }: KeptEntry): DeliveryEntryName {
  return { kind, sequence: kept.event.sequence };
}

function* goneOf(
  kind: DeliveryEntryName['kind'],
  changes: ReadonlyMap<number, object | null>,
): Generator<DeliveryEntryName, void, undefined> {
  for (const [sequence, kept] of changes) if (kept === null) yield { kind, sequence };
}

function grouped(hooks: Hooks, entries: readonly KeptEntry[]): HookChanges[] {
  const numbers = new Set(entries.map(({ number }) => number));
  return Array.from(numbers).flatMap((number) => {
    const hook = hooks.get(number);
    const own = entries.filter((entry) => entry.number === number);
    return hook === undefined ? [] : [changesOf(hook.id, hook.record, own)];
  });
}

function changesOf(id: string, record: HookRecord, entries: readonly KeptEntry[]): HookChanges {
  const failed = new Map<number, Extract<KeptEntry, { kind: 'failed' }>['kept']>();
  const parked = new Map<number, Extract<KeptEntry, { kind: 'parked' }>['kept']>();
  for (const entry of entries)
    if (entry.kind === 'failed') failed.set(entry.kept.event.sequence, entry.kept);
    else parked.set(entry.kept.event.sequence, entry.kept);
  return { id, number: record.number, record, failed, parked, parkedTrimmed: 0 };
}

interface DeliveryEntryName {
  readonly kind: 'failed' | 'parked';
  readonly sequence: number;
}

/** Places of the store's entries in the bucket, the free ones used first. */
class DeliveryRevisions {
  /** By the hook's number, then by the entry's name. */
  readonly #places = new Map<number, Map<string, number>>();
  readonly #free: number[] = [];
  #made = 0;

  /** It was found there. */
  add(number: number, name: DeliveryEntryName, place: number): void {
    this.#made = Math.max(this.#made, place + 1);
    this.#of(number).set(textOf(name), place);
  }

  /** It was found free, or is free now. */
  addFree(place: number): void {
    this.#made = Math.max(this.#made, place + 1);
    this.#free.push(place);
  }

  /** Where it stands, or shall stand from now on. */
  take(number: number, name: DeliveryEntryName): number {
    const known = this.#of(number).get(textOf(name));
    if (known !== undefined) return known;
    const place = this.#free.pop() ?? this.#made++;
    this.#of(number).set(textOf(name), place);
    return place;
  }

  /** Null: it stands nowhere. */
  find(number: number, name: DeliveryEntryName): number | null {
    return this.#places.get(number)?.get(textOf(name)) ?? null;
  }

  all(number: number): number[] {
    return Array.from(this.#places.get(number)?.values() ?? []);
  }

  leave(number: number, name: DeliveryEntryName): void {
    const place = this.find(number, name);
    this.#places.get(number)?.delete(textOf(name));
    if (place !== null) this.#free.push(place);
  }

  leaveAll(number: number): void {
    for (const place of this.all(number)) this.#free.push(place);
    this.#places.delete(number);
  }

  #of(number: number): Map<string, number> {
    const known = this.#places.get(number);
    if (known !== undefined) return known;
    const places = new Map<string, number>();
    this.#places.set(number, places);
    return places;
  }
}

function textOf({ kind, sequence }: DeliveryEntryName): string {
  return `${kind} ${sequence}`;
}

/**
 * Unauthenticated connections by remote address, and the eviction rule of a full listener: the oldest connection of the address
 * that has the most. Every operation takes amortised constant time.
 */
import { RenewedMap } from '../collections/renewed-map.ts';
import { WaitingLine, type Waiter } from '../collections/waiting-line.ts';

/**
 * Grace of a new member: within it, it is evicted only for an address that has fewer. So a crowd of equals, as after a power
 * cut, does not evict itself before any of them has logged in.
 */
export const provingGraceMs = 2000;

export interface CrowdLimits {
  readonly max: number;
  /** Members of one address; 0: unlimited. */
  readonly perAddressMax: number;
}

class Entry<Member> implements Waiter<Entry<Member>> {
  readonly member: Member;
  readonly group: Group<Member>;
  readonly sinceMs: number;
  line: WaitingLine<Entry<Member>> | null = null;
  ahead: Entry<Member> | null = null;
  behind: Entry<Member> | null = null;

  constructor(member: Member, group: Group<Member>, sinceMs: number) {
    this.member = member;
    this.group = group;
    this.sinceMs = sinceMs;
  }
}

class Group<Member> implements Waiter<Group<Member>> {
  readonly address: string;
  /** Oldest first. */
  readonly entries = new WaitingLine<Entry<Member>>();
  line: WaitingLine<Group<Member>> | null = null;
  ahead: Group<Member> | null = null;
  behind: Group<Member> | null = null;

  constructor(address: string) {
    this.address = address;
  }
}

export class Crowd<Member> {
  readonly #entries = new RenewedMap<Member, Entry<Member>>();
  readonly #groups = new RenewedMap<string, Group<Member>>();
  /** Addresses by the number of their members. */
  readonly #bySize: WaitingLine<Group<Member>>[] = [];
  #largest = 0;

  get size(): number {
    return this.#entries.size;
  }

  countOf(address: string): number {
    return this.#groups.get(address)?.entries.length ?? 0;
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#entries.keys();
  }

  /**
   * `address`: an address key; empty where addresses do not count. `sinceMs`: monotonic start of the grace. Default: no grace.
   * Does nothing for a member that is already present.
   */
  add(address: string, member: Member, sinceMs = -Infinity): void {
    if (this.#entries.has(member)) return;
    const group = this.#groups.get(address) ?? new Group<Member>(address);
    const entry = new Entry(member, group, sinceMs);
    this.#entries.set(member, entry);
    group.line?.remove(group);
    group.entries.push(entry);
    this.#groups.set(address, group);
    this.#place(group);
    this.#largest = Math.max(this.#largest, group.entries.length);
  }

  /** Removes a member that has authenticated or closed. False: it is not present. */
  delete(address: string, member: Member): boolean {
    const entry = this.#entries.get(member);
    if (entry?.group.address !== address) return false;
    this.#remove(entry);
    return true;
  }

  /** Protects all members of the address from eviction. */
  deleteAddress(address: string): void {
    while (this.shift(address) !== null);
  }

  shift(address: string): Member | null {
    return this.#remove(this.#groups.get(address)?.entries.first ?? null);
  }

  /** Removes and returns the oldest member of the address that has the most; null: the crowd is empty. */
  evict(): Member | null {
    return this.#remove(this.#oldestOfLargest);
  }

  /**
   * True: there is room for one more connection of the address; if necessary, a member was removed and passed to `evict`. At its
   * own bound an address loses its own oldest; otherwise the address with the most does. False: that oldest is within its grace,
   * and its address has no more members than the newcomer's would.
   */
  makeRoom(
    address: string,
    nowMs: number,
    { max, perAddressMax }: CrowdLimits,
    evict: (member: Member) => void,
  ): boolean {
    const count = this.countOf(address);
    const isAtBound = perAddressMax > 0 && count >= perAddressMax;
    if (!isAtBound && this.size < max) return true;
    const oldest = isAtBound ? (this.#groups.get(address)?.entries.first ?? null) : this.#oldestOfLargest;
    if (oldest === null) return false;
    const hasGrace = nowMs - oldest.sinceMs < provingGraceMs;
    if (hasGrace && oldest.group.entries.length <= count + 1) return false;
    this.#remove(oldest);
    evict(oldest.member);
    return true;
  }

  get #oldestOfLargest(): Entry<Member> | null {
    return this.#bySize[this.#largest]?.first?.entries.first ?? null;
  }

  #remove(entry: Entry<Member> | null): Member | null {
    if (entry === null) return null;
    const { group, member } = entry;
    this.#entries.delete(member);
    group.line?.remove(group);
    group.entries.remove(entry);
    if (group.entries.length === 0) this.#groups.delete(group.address);
    else this.#place(group);
    while (this.#largest > 0 && this.#bySize[this.#largest]?.first === null) this.#largest -= 1;
    return member;
  }

  #place(group: Group<Member>): void {
    const { length } = group.entries;
    while (this.#bySize.length <= length) this.#bySize.push(new WaitingLine());
    this.#bySize[length]?.push(group);
  }
}

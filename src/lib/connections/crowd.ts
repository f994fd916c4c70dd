/**
 * Connections that have proved nothing yet, by remote address, and the rule by which a full listener evicts one of them for
 * a newcomer: the oldest of the address that has the most. Every operation takes constant time, amortised.
 */
import { WaitingLine, type Waiter } from './waiting-line.ts';

/**
 * Within this time of its start a member is evicted only for an address that has fewer, so that a crowd of equals, as after
 * a power cut, does not evict itself before anyone is through.
 */
export const provingGraceMs = 2000;

export interface CrowdLimits {
  /** Members at once. */
  readonly max: number;
  /** Members of one address; 0: no such bound. */
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

/** The members of one address. */
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
  readonly #entries = new Map<Member, Entry<Member>>();
  readonly #groups = new Map<string, Group<Member>>();
  /** Groups by their number of members. */
  readonly #bySize = new Map<number, WaitingLine<Group<Member>>>();
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
   * `address` is an address key; the empty one where addresses do not count. `sinceMs`, monotonic, begins its grace; left
   * out, it has none. Does nothing for a member that is in.
   */
  add(address: string, member: Member, sinceMs = -Infinity): void {
    if (this.#entries.has(member)) return;
    const group = this.#groups.get(address) ?? new Group<Member>(address);
    const entry = new Entry(member, group, sinceMs);
    this.#entries.set(member, entry);
    this.#resize(group, () => group.entries.push(entry));
    this.#largest = Math.max(this.#largest, group.entries.length);
  }

  /** The member has proved who it is, or is gone. False: it is not in. */
  delete(address: string, member: Member): boolean {
    const entry = this.#entries.get(member);
    if (entry?.group.address !== address) return false;
    this.#remove(entry);
    return true;
  }

  /** Spares every member of the address. */
  deleteAddress(address: string): void {
    while (this.shift(address) !== null);
  }

  /** Removes the oldest member of the address, and returns it; null: there is none. */
  shift(address: string): Member | null {
    return this.#remove(this.#groups.get(address)?.entries.first ?? null);
  }

  /** Removes the oldest member of the address that has the most, and returns it; null: there is none. */
  evict(): Member | null {
    return this.#remove(this.#oldestOfLargest);
  }

  /**
   * True: there is room for one more of the address, if need be because a member was removed and given to `evict`. At its
   * own bound an address yields its own oldest; else the address that has the most yields. False: the oldest has its grace,
   * and its address has no more than the newcomer's would.
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
    return this.#bySize.get(this.#largest)?.first?.entries.first ?? null;
  }

  #remove(entry: Entry<Member> | null): Member | null {
    if (entry === null) return null;
    const { group, member } = entry;
    this.#entries.delete(member);
    this.#resize(group, () => group.entries.remove(entry));
    return member;
  }

  #resize(group: Group<Member>, change: () => void): void {
    const before = group.entries.length;
    group.line?.remove(group);
    if (this.#bySize.get(before)?.length === 0) this.#bySize.delete(before);
    change();
    const { length } = group.entries;
    if (length === 0) this.#groups.delete(group.address);
    else {
      this.#groups.set(group.address, group);
      const peers = this.#bySize.get(length) ?? new WaitingLine();
      peers.push(group);
      this.#bySize.set(length, peers);
    }
    while (this.#largest > 0 && !this.#bySize.has(this.#largest)) this.#largest -= 1;
  }
}

/**
 * Connections that have proved nothing yet, by remote address, so that a full listener can evict one of them for a newcomer:
 * the oldest of the address that has the most. Every operation takes constant time, amortised.
 */
interface Group<Member> {
  readonly address: string;
  /** Oldest first. */
  readonly members: Set<Member>;
}

export class Crowd<Member> {
  readonly #groups = new Map<string, Group<Member>>();
  /** Groups by their number of members. */
  readonly #bySize = new Map<number, Set<Group<Member>>>();
  #largest = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  countOf(address: string): number {
    return this.#groups.get(address)?.members.size ?? 0;
  }

  /** `address` is an address key; the empty one where addresses do not count. Does nothing for a member that is in. */
  add(address: string, member: Member): void {
    const group = this.#groups.get(address) ?? { address, members: new Set() };
    if (group.members.has(member)) return;
    this.#resize(group, () => group.members.add(member));
    this.#largest = Math.max(this.#largest, group.members.size);
  }

  /** The member has proved who it is, or is gone. Does nothing for one that is not in. */
  delete(address: string, member: Member): void {
    const group = this.#groups.get(address);
    if (group?.members.has(member) === true) this.#resize(group, () => group.members.delete(member));
  }

  /** Spares every member of the address. */
  deleteAddress(address: string): void {
    const group = this.#groups.get(address);
    if (group !== undefined) this.#resize(group, () => group.members.clear());
  }

  /** Removes the oldest member of the address that has the most, and returns it; null: there is none. */
  evict(): Member | null {
    const [group] = this.#bySize.get(this.#largest) ?? [];
    const [oldest] = group?.members ?? [];
    if (group === undefined || oldest === undefined) return null;
    this.delete(group.address, oldest);
    return oldest;
  }

  #resize(group: Group<Member>, change: () => void): void {
    const before = group.members.size;
    this.#bySize.get(before)?.delete(group);
    change();
    const { size } = group.members;
    this.#size += size - before;
    if (this.#bySize.get(before)?.size === 0) this.#bySize.delete(before);
    if (size === 0) this.#groups.delete(group.address);
    else {
      this.#groups.set(group.address, group);
      const peers = this.#bySize.get(size) ?? new Set();
      this.#bySize.set(size, peers.add(group));
    }
    while (this.#largest > 0 && !this.#bySize.has(this.#largest)) this.#largest -= 1;
  }
}

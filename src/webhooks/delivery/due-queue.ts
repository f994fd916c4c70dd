/** Failed events by the time of their next attempt, then by their place in the log: a binary heap. */
import type { Ticket } from './ticket.ts';

export class DueQueue {
  readonly #heap: Ticket[] = [];

  /** Of the earliest; null when there is none. */
  get nextDueMs(): number | null {
    return this.#heap[0]?.dueMs ?? null;
  }

  push(ticket: Ticket): void {
    const heap = this.#heap;
    let at = heap.push(ticket) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(ticket, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = ticket;
  }

  /** The earliest, when it is due. */
  take(nowMs: number): Ticket | null {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) return null;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Puts `ticket` where the first was. */
  #sink(ticket: Ticket): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const below = this.#earlierBelow(at);
      const child = heap[below];
      if (child === undefined || !isBefore(child, ticket)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = ticket;
  }

  #earlierBelow(at: number): number {
    const left = this.#heap[2 * at + 1];
    const right = this.#heap[2 * at + 2];
    return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
  }
}

function isBefore(one: Ticket, other: Ticket): boolean {
  return one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
}

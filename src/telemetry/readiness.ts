/** Whether this node should be sent traffic, and if not, why. Source: running.md, Probes. */

export type UnreadyReason = 'starting' | 'draining' | 'store' | 'cluster';

/** Of those that are one server together. */
export interface Missing {
  readonly isReady: boolean;
  readonly reasons: readonly string[];
}

export class Readiness {
  /** A process is not ready until it says that it has started. */
  readonly #reasons = new Set<UnreadyReason>(['starting']);
  #others: () => Missing = () => ({ isReady: true, reasons: [] });

  /** Whether it should be sent traffic. */
  get isReady(): boolean {
    return this.#reasons.size === 0 && this.#others().isReady;
  }

  /** In the order they came up. A server that is ready may have some: what is missing keeps nobody from it. */
  get reasons(): readonly string[] {
    return [...this.#reasons, ...this.#others().reasons];
  }

  /** What other processes of this server have to say, asked at every probe. */
  include(others: () => Missing): void {
    this.#others = others;
  }

  set(reason: UnreadyReason): void {
    this.#reasons.add(reason);
  }

  clear(reason: UnreadyReason): void {
    this.#reasons.delete(reason);
  }

  has(reason: UnreadyReason): boolean {
    return this.#reasons.has(reason);
  }
}

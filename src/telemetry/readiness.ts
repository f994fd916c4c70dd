/** The readiness of this node for traffic, and why it is not ready. Source: running.md, Probes. */

export type UnreadyReason = 'starting' | 'draining' | 'store' | 'store_damaged' | 'store_panic' | 'cluster';

/** The readiness of other processes of this server, or of its fronts. */
export interface Missing {
  readonly isReady: boolean;
  readonly reasons: readonly string[];
}

export class Readiness {
  /** A process is not ready until it says that it has started. */
  readonly #reasons = new Set<UnreadyReason>(['starting']);
  readonly #others: (() => Missing)[] = [];
  #hasRegistry: () => boolean = () => true;

  /** True while the server is being stopped: nothing new is begun. */
  readonly isDraining = (): boolean => this.#reasons.has('draining');

  /** True while it should be sent traffic. */
  get isReady(): boolean {
    return this.#reasons.size === 0 && this.#others.every((missing) => missing().isReady);
  }

  /** In the order they came up. A server that is ready may have some: it lacks something and works all the same. */
  get reasons(): readonly string[] {
    const lacking = this.#hasRegistry() ? [] : ['registry_empty'];
    return [...this.#reasons, ...lacking, ...this.#others.flatMap((missing) => missing().reasons)];
  }

  /** Takes in others that serve for this process, asked at every probe. */
  include(others: () => Missing): void {
    this.#others.push(others);
  }

  /** `hasRegistry` is asked at every probe: a server whose registry is empty is ready and says so. Must not throw. */
  watchRegistry(hasRegistry: () => boolean): void {
    this.#hasRegistry = hasRegistry;
  }

  set(reason: UnreadyReason): void {
    this.#reasons.add(reason);
  }

  clear(reason: UnreadyReason): void {
    this.#reasons.delete(reason);
  }
}

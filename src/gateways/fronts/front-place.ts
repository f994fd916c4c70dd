/** The slot of a front: when its front ends, it keeps the counts and starts the next. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { Restarts } from '../../lib/restarts.ts';
import type { FrontFigures, FrontLoss } from '../../telemetry/front-gauges.ts';
import type { Front } from './front.ts';

export interface FrontPlaceDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  start(name: string): Front;
  /** False: an ended front is not replaced. */
  isWanted(): boolean;
  onNext(front: Front): void;
}

const restarts = { immediate: 1, msMin: 100, msMax: 5000 } as const;
/** A front that lives longer than this did not fail because of its start. */
const soundMs = 5000;
const down = { state: 'down', connections: 0, waitingCalls: 0, openCalls: 0, utilization: 0 } as const;

export class FrontPlace {
  readonly name: string;
  readonly losses: Record<FrontLoss, number> = { ended: 0, stuck: 0, credentials: 0 };
  readonly #deps: FrontPlaceDeps;
  readonly #restarts: Restarts;
  /** Sums of the ended fronts. */
  readonly #past = { connections: 0, refused: 0, evicted: 0, refusedCalls: 0 };
  /** Null: it has ended, and the next one starts soon. */
  #front: Front | null = null;
  #sinceMs = 0;

  constructor(name: string, deps: FrontPlaceDeps) {
    this.name = name;
    this.#deps = deps;
    this.#restarts = new Restarts(deps.clock, restarts);
  }

  get front(): Front | null {
    return this.#front;
  }

  get figures(): FrontFigures {
    const { ended, stuck, credentials } = this.losses;
    const figures = this.#front?.figures ?? down;
    return { name: this.name, ...figures, restarts: ended + stuck + credentials, sinceMs: this.#sinceMs };
  }

  /** Since the start; for `connections`, the open ones. */
  count(counter: 'connections' | 'refused' | 'evicted' | 'refusedCalls'): number {
    return this.#past[counter] + (this.#front?.count(counter) ?? 0);
  }

  begin(): Front {
    const { clock } = this.#deps;
    const startedMs = clock.monotonicMs();
    const front = this.#deps.start(this.name);
    this.#front = front;
    this.#sinceMs = clock.wallMs();
    void front.ended.then((reason) => this.#end(front, reason, clock.monotonicMs() - startedMs));
    return front;
  }

  #end(front: Front, reason: string, livedMs: number): void {
    const { clock, log } = this.#deps;
    this.#front = null;
    this.#sinceMs = clock.wallMs();
    for (const counter of ['refused', 'evicted', 'refusedCalls'] as const)
      this.#past[counter] += front.count(counter);
    if (!this.#deps.isWanted()) return this.#restarts.stop();
    this.losses[front.loss] += 1;
    const waitMs = this.#restarts.died(livedMs > soundMs);
    log.error({ front: this.name, reason, restart_ms: waitMs }, 'API front: ended; replacing it');
    this.#restarts.startAfter(
      waitMs,
      () => void (this.#deps.isWanted() && this.#deps.onNext(this.begin())),
      () => undefined,
    );
  }
}

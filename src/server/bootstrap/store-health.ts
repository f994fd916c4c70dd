/**
 * Reports the health of the store to operators: in the log once per change, in readiness, and as gauges. A store that refuses writes
 * recovers by itself; a damaged one must be restored; after a panic of LMDB the server must be restarted. Source: docs/alerts.md.
 */
import type { Log } from '../../lib/log.ts';
import type { Environment } from '../../storage/lmdb/environment.ts';
import {
  adviceOf,
  damagedAdvice,
  faultOf,
  panicAdvice,
  type StoreFault,
} from '../../storage/lmdb/store-fault.ts';
import { loginsBacklogMax, stopBacklogMsMax } from '../../storage/lmdb/store-limits.ts';
import type { StoreFigures } from '../../telemetry/gauges.ts';
import type { Readiness } from '../../telemetry/readiness.ts';

interface StoreHealthDeps {
  readonly log: Log;
  readonly readiness: Readiness;
}

const faultsOfFiles = {
  damaged: {
    reason: 'store_damaged',
    advice: damagedAdvice,
    message: 'store: damaged; its unreadable pages are not served, the rest is',
  },
  panic: {
    reason: 'store_panic',
    advice: panicAdvice,
    message:
      'store: the disk failed at its first pages; this file is neither read nor written until a restart',
  },
} as const;

export class StoreHealth {
  readonly #deps: StoreHealthDeps;
  /** Files already reported, by kind of fault. */
  readonly #files = { damaged: new Set<string>(), panic: new Set<string>() };
  /** The fault for which writes are refused; null: none. */
  #refusal: StoreFault | null = null;
  #waiting: () => number = () => 0;

  constructor(deps: StoreHealthDeps) {
    this.#deps = deps;
  }

  /** Reports faults of a file of the store. */
  watch(environment: Pick<Environment, 'path' | 'onFault'>): void {
    environment.onFault((error) => this.foundFault(error, environment.path, faultOf(error)));
  }

  /** A page of the file is unreadable at each attempt, or LMDB has panicked. */
  foundFault(error: unknown, file: string, fault: StoreFault): void {
    const kind = fault === 'panic' ? 'panic' : 'damaged';
    if (this.#files[kind].has(file)) return;
    this.#files[kind].add(file);
    const { reason, advice, message } = faultsOfFiles[kind];
    this.#deps.readiness.set(reason);
    this.#deps.log.error({ err: error, file, advice }, message);
  }

  /** True: pages of a file cannot be read. */
  get isDamaged(): boolean {
    return this.#files.damaged.size > 0;
  }

  /** `waiting`: number of changes in memory, not yet committed. */
  count(waiting: () => number): void {
    this.#waiting = waiting;
  }

  /** True: writes wait in memory. */
  get refuses(): boolean {
    return this.#refusal !== null;
  }

  /** Milliseconds for which a stop waits for the store; 0 after a panic, which only a restart ends. */
  get stopWaitMsMax(): number {
    return this.#refusal === 'panic' ? 0 : stopBacklogMsMax;
  }

  get figures(): StoreFigures {
    const { damaged, panic } = this.#files;
    return { refuses: this.refuses || panic.size > 0, damagedFiles: damaged.size, waiting: this.#waiting() };
  }

  /** `failure`: why the store refuses writes; null: it accepts them again. */
  healthChanged(failure: unknown): void {
    const { log, readiness } = this.#deps;
    this.#refusal = failure === null ? null : faultOf(failure);
    if (this.#refusal === null) {
      readiness.clear('store');
      log.info({}, 'store: accepts writes again');
      return;
    }
    readiness.set('store');
    if (this.#refusal === 'damaged') readiness.set('store_damaged');
    const advice = adviceOf(failure);
    log.error({ err: failure, advice }, refusalOf(this.#refusal));
  }

  loginsChanged(areClosed: boolean): void {
    const { log } = this.#deps;
    if (areClosed)
      log.error(
        { waiting_max: loginsBacklogMax },
        'store: too many changes wait for it; logins of devices without a session are refused as busy',
      );
    else log.info({}, 'store: caught up; all logins are admitted again');
  }

  /** Logs a stop while the store refuses writes. */
  stopsWithoutStore(): void {
    const message = `stopping: ${this.#waiting()} changes are lost: the store refuses writes`;
    this.#deps.log.error({ waited_ms: this.stopWaitMsMax, means: lossMeans }, message);
  }
}

function refusalOf(fault: StoreFault): string {
  if (fault === 'panic') return 'store: refuses writes; restart the server';
  return 'store: refuses writes; retrying every second';
}

const lossMeans =
  'backends receive no events of these logins, ends, wakeups and calls; devices log in again; registry changes are announced after the next start';

/**
 * The health of the store, as operators are told it: in the log once for each change, in readiness, and as gauges. A store that
 * refuses writes heals by itself; one that is damaged is restored, and after LMDB's panic the server is started again. Source:
 * docs/alerts.md.
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
    message: 'the store is damaged: what lies there cannot be read, the rest is served',
  },
  panic: {
    reason: 'store_panic',
    advice: panicAdvice,
    message:
      'the disk failed the store at its first pages: until a new start nothing of this file is read or written',
  },
} as const;

export class StoreHealth {
  readonly #deps: StoreHealthDeps;
  /** Each file is told once for each of its faults. */
  readonly #files = { damaged: new Set<string>(), panic: new Set<string>() };
  /** Why writes are refused; null: they are not. */
  #refusal: StoreFault | null = null;
  #waiting: () => number = () => 0;

  constructor(deps: StoreHealthDeps) {
    this.#deps = deps;
  }

  /** Of one file of the store. */
  watch(environment: Pick<Environment, 'path' | 'onFault'>): void {
    environment.onFault((error) => this.foundFault(error, environment.path, faultOf(error)));
  }

  /** Somebody could not read a page of the file, each time, or LMDB has panicked. */
  foundFault(error: unknown, file: string, fault: StoreFault): void {
    const kind = fault === 'panic' ? 'panic' : 'damaged';
    if (this.#files[kind].has(file)) return;
    this.#files[kind].add(file);
    const { reason, advice, message } = faultsOfFiles[kind];
    this.#deps.readiness.set(reason);
    this.#deps.log.error({ err: error, file, advice }, message);
  }

  /** Pages of a file cannot be read. */
  get isDamaged(): boolean {
    return this.#files.damaged.size > 0;
  }

  /** `waiting`: changes in memory that the store has not taken. */
  count(waiting: () => number): void {
    this.#waiting = waiting;
  }

  /** What is written waits in memory. */
  get refuses(): boolean {
    return this.#refusal !== null;
  }

  /** Milliseconds for which a stop waits for the store: not at all for one that takes nothing more of this process. */
  get stopWaitMsMax(): number {
    return this.#refusal === 'panic' ? 0 : stopBacklogMsMax;
  }

  get figures(): StoreFigures {
    const { damaged, panic } = this.#files;
    return { refuses: this.refuses || panic.size > 0, damagedFiles: damaged.size, waiting: this.#waiting() };
  }

  /** Why the store refuses writes; null: it takes them again. */
  turned(failure: unknown): void {
    const { log, readiness } = this.#deps;
    this.#refusal = failure === null ? null : faultOf(failure);
    if (this.#refusal === null) {
      readiness.clear('store');
      log.info({}, 'the store takes writes again');
      return;
    }
    readiness.set('store');
    if (this.#refusal === 'damaged') readiness.set('store_damaged');
    const advice = adviceOf(failure);
    log.error({ err: failure, advice }, refusalOf(this.#refusal));
  }

  loginsTurned(areClosed: boolean): void {
    const { log } = this.#deps;
    if (areClosed)
      log.error(
        { waiting_max: loginsBacklogMax },
        'too many changes wait for the store: devices without a session are refused as busy',
      );
    else log.info({}, 'the store has caught up: devices may log in again');
  }

  /** The server stops, and the store still refuses. */
  stopsWithoutStore(): void {
    const message = `stopping without ${this.#waiting()} changes that the store refuses to take: they are lost`;
    this.#deps.log.error({ waited_ms: this.stopWaitMsMax, means: lossMeans }, message);
  }
}

function refusalOf(fault: StoreFault): string {
  if (fault === 'panic') return 'the store refuses writes until the server is started again';
  return 'the store refuses writes; tried again every second';
}

const lossMeans =
  'backends are not told of these logins, ends, wakeups and calls; devices log in again; changes of the registry are told after the next start';

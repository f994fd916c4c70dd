/** What the server observes and must not forget, and readiness that follows the store's health. */
import type { Clock } from '../base/clock.ts';
import type { Readiness } from '../ops/readiness.ts';
import type { Log } from '../ports/log.ts';
import { AcceptedWakeupStore } from '../store/accepted-wakeup-store.ts';
import { ConnectionRecordStore } from '../store/connection-record-store.ts';
import type { StateTables } from '../store/state-tables.ts';
import type { Settings } from './settings-schema.ts';

export interface Records {
  readonly sleep: ConnectionRecordStore;
  readonly wakeups: AcceptedWakeupStore;
  /** Resolves when everything written is committed, or the store has refused it for too long. */
  close(): Promise<void>;
}

interface RecordsHouse {
  readonly clock: Clock;
  readonly log: Log;
  readonly readiness: Readiness;
}

/** Records and wakeups in memory that the store has not taken; beyond it the store is overloaded. */
const backlogMax = 1_000_000;
/** A commit each wakeup was most of what a wakeup cost; a crash within this time forgets that a 202 was answered. */
const collectMs = 20;
/** A store that takes nothing, a full disk, must not keep a server from stopping. */
const closeMsMax = 10_000;

export function openRecords(state: StateTables, settings: Settings, house: RecordsHouse): Records {
  const { clock } = house;
  const onHealth = (failure: unknown): void => tellHealth(house, failure);
  const sleep = new ConnectionRecordStore(state, 'sleep', { clock, backlogMax, onHealth });
  const { known_max: knownMax } = settings.wakeup;
  const wakeups = new AcceptedWakeupStore(state, { clock, knownMax, backlogMax, collectMs, onHealth });
  const stopForgetting = wakeups.start();
  return {
    sleep,
    wakeups,
    async close() {
      stopForgetting();
      const committed = Promise.all([sleep.allCommitted(), wakeups.allCommitted()]);
      if (!(await settlesWithin(clock, closeMsMax, committed)))
        house.log.error({ waited_ms: closeMsMax }, 'stopping without what the store refuses to take');
    },
  };
}

function settlesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = clock.after(ms, () => resolve(false));
    void work.then(() => {
      giveUp();
      resolve(true);
    });
  });
}

function tellHealth({ log, readiness }: RecordsHouse, failure: unknown): void {
  if (failure === null) {
    readiness.clear('store');
    log.info({}, 'the store takes writes again');
  } else {
    readiness.set('store');
    log.error({ err: failure }, 'the store refuses writes; tried again every second');
  }
}

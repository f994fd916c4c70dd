/**
 * The coordinator's part for processes that are gone: their sessions end as lost with their node, once, and their wakeups
 * are watched by the coordinator from then on. One round at a time; a round that the store refuses is done again.
 * Source: cluster.md, Several processes on one machine.
 */
import type { Cancel } from '../../lib/clock.ts';
import { recallLoggedSessions } from '../../core/wakeups/log-followers.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { OpenContext } from '../bootstrap/server-context.ts';
import type { WorkerSet } from './worker-set.ts';

const againMs = 1000;

export class ProcessLosses {
  readonly #context: OpenContext;
  readonly #workerSet: WorkerSet;
  #living: readonly MemberId[];
  #isClosing = false;
  #isDue = false;
  #cancelAgain: Cancel = () => undefined;

  constructor(context: OpenContext, workerSet: WorkerSet) {
    this.#context = context;
    this.#workerSet = workerSet;
    this.#living = workerSet.members;
  }

  /** Resolves when what is open of those that are gone now has ended, and that is committed, and their wakeups are taken up. Rejects when the store cannot be read. */
  async endAll(): Promise<void> {
    const { records, watch, clock, log } = this.#context;
    const gone = (member: MemberId): boolean => this.#workerSet.isGone(member);
    const atMs = clock.wallMs();
    const sleep = await records.closeSessionsOf('sleep', gone, atMs);
    const sessions = sleep + (await records.closeSessionsOf('signal', gone, atMs));
    if (sessions > 0)
      log.warn({ sessions, reason: 'node_lost' }, 'sessions that lost processes left open are ended');
    // What they committed last is seen behind this.
    records.events.refresh();
    const wakeups = watch.resume(gone, (deviceId) => recallLoggedSessions(records.events, watch, deviceId));
    if (wakeups > 0) log.info({ wakeups }, 'wakeups that lost processes awaited are watched on');
  }

  /** From now on. */
  follow(): void {
    this.#workerSet.onChange(() => {
      const before = this.#living;
      this.#living = this.#workerSet.members;
      if (before.some((member) => this.#workerSet.isGone(member))) this.#endSoon();
    });
  }

  close(): void {
    this.#cancelAgain();
  }

  #endSoon(): void {
    this.#isDue = true;
    if (this.#isClosing) return;
    this.#isClosing = true;
    void this.#rounds().finally(() => (this.#isClosing = false));
  }

  async #rounds(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await this.endAll();
      } catch (error) {
        const { log, clock } = this.#context;
        log.error({ err: error }, 'sessions of lost processes cannot be ended; tried again in a moment');
        this.#cancelAgain = clock.after(againMs, () => this.#endSoon());
      }
    }
  }
}

/**
 * The coordinator's part among the processes of its server: what it shows of them all (`GET /v1/cluster`, Prometheus's
 * scrape, readiness), and what it ends and takes up of those that are gone.
 * Source: cluster.md, Several processes on one machine.
 */
import type { MemberStatus, MemberId } from '../../model/cluster.ts';
import { memberViewMsMax } from '../../model/limits.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import { GatheredMetrics, type MetricSource } from '../../telemetry/gathered-metrics.ts';
import type { Missing } from '../../telemetry/readiness.ts';
import { clusterRoute, memberJson, type MemberJson } from '../membership/cluster-json.ts';
import type { WorkerSet } from './worker-set.ts';
import { coordinatorNumber, type ProcessFacts } from './process-messages.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { OpenContext } from '../bootstrap/server-context.ts';

export interface ProcessViewDeps {
  readonly workerSet: WorkerSet;
  readonly own: Exposition;
  /** Of this process. */
  readonly status: () => MemberStatus;
}

export function processRoutes({ workerSet, status }: ProcessViewDeps): AdminRoute[] {
  return [
    clusterRoute(() => Promise.all(workerSet.processes.map((one) => describe(workerSet, status, one)))),
    {
      method: 'POST',
      path: '/v1/cluster/restart',
      audit: { action: 'cluster.restart' },
      handle: () => {
        workerSet.handle.report({ kind: 'restart-workers' });
        return Promise.resolve({ status: 200, body: { restarting: true } });
      },
    },
  ];
}

async function describe(
  workerSet: WorkerSet,
  status: () => MemberStatus,
  facts: ProcessFacts,
): Promise<MemberJson> {
  const { process, role, pid, restarts, state } = facts;
  const reported = process === coordinatorNumber ? status() : await statusAt(workerSet, facts);
  const known = reported === null ? { process } : memberJson(reported);
  // The supervisor knows better: one that says that it is up may be about to be killed.
  return { ...known, role, pid, restarts, state: reported === null && state === 'up' ? 'silent' : state };
}

async function statusAt({ peers }: WorkerSet, { member, state }: ProcessFacts): Promise<MemberStatus | null> {
  if (member === null || state === 'starting') return null;
  const asked = await peers.ask<'status'>(member, { kind: 'status' }, memberViewMsMax);
  return asked.ok ? asked.value : null;
}

/** One scrape of all of them. */
export function processMetrics({ workerSet, own }: ProcessViewDeps): Exposition {
  return new GatheredMetrics({
    own,
    process: coordinatorNumber,
    others: () => workerSet.processes.flatMap((one) => sourceOf(workerSet, one)),
    processes: () =>
      workerSet.processes.map(({ process, state, restarts }) => ({
        process,
        isUp: state === 'up',
        restarts,
      })),
  });
}

function sourceOf({ peers }: WorkerSet, { process, member, state }: ProcessFacts): MetricSource[] {
  if (member === null || process === coordinatorNumber) return [];
  const read = async (): Promise<string | null> => {
    if (state === 'starting') return null;
    const asked = await peers.ask<'metrics'>(member, { kind: 'metrics' }, memberViewMsMax);
    return asked.ok ? asked.value : null;
  };
  return [{ member, process, read }];
}

/** One worker is enough to serve: others that are missing are named, and keep no traffic away. */
export function missingProcesses({ processes }: Pick<WorkerSet, 'processes'>): Missing {
  const workers = processes.filter(({ role }) => role === 'worker');
  const missing = workers.filter(({ state }) => state !== 'up');
  return {
    isReady: missing.length < workers.length,
    reasons: missing.map(({ process, state }) => `process ${process} is ${state}`),
  };
}

const againMs = 1000;

/**
 * Sessions of processes that are gone end as lost with their node, once, and their wakeups are watched by the coordinator
 * from then on. One round at a time; a round that the store refuses is done again.
 */
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

  /**
   * Resolves when what is open of those that are gone now has ended, and that is committed, and their wakeups are taken up.
   * Rejects when the store cannot be read.
   */
  async endAll(): Promise<void> {
    const { records, watch, log } = this.#context;
    const gone = (member: MemberId): boolean => this.#workerSet.isGone(member);
    const { sleep, signal } = await records.closeSessionsOf(gone);
    if (sleep + signal > 0)
      log.warn(
        { sessions: sleep + signal, reason: 'node_lost' },
        'sessions that lost processes left open are ended',
      );
    // What they committed last is seen behind this.
    records.events.refresh();
    const wakeups = watch.resume(gone);
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

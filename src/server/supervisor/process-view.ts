/**
 * The processes of this server as its coordinator shows them: `GET /v1/cluster`, `POST /v1/cluster/restart`, what
 * Prometheus reads of them all, and what keeps them from being ready. Source: cluster.md, Several processes on one machine.
 */
import type { MemberStatus } from '../../model/cluster.ts';
import { memberViewMsMax } from '../../model/limits.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import { GatheredMetrics, type MetricSource } from '../../telemetry/gathered-metrics.ts';
import type { Missing } from '../../telemetry/readiness.ts';
import { clusterRoute, memberJson, type MemberJson } from '../membership/cluster-json.ts';
import type { WorkerSet } from './worker-set.ts';
import { coordinatorNumber, type ProcessFacts } from './process-messages.ts';

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
    figures: () => figures(workerSet.processes),
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

function figures(processes: readonly ProcessFacts[]): string {
  const lines = (name: string, read: (facts: ProcessFacts) => number): string =>
    processes.map((facts) => `${name}{process="${facts.process}"} ${read(facts)}\n`).join('');
  return [
    '# HELP reveille_process_up 1 while the process serves, else 0.\n# TYPE reveille_process_up gauge\n',
    lines('reveille_process_up', ({ state }) => Number(state === 'up')),
    '\n# HELP reveille_process_restarts_total How often a process that died was started again.\n',
    '# TYPE reveille_process_restarts_total counter\n',
    lines('reveille_process_restarts_total', ({ restarts }) => restarts),
  ].join('');
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

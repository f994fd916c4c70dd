/**
 * The routes of an upgrade: it is begun, and asked how far it is or how the last one ended. Among several processes it
 * is the supervisor's, which has one worker after the other hand over. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { readVersion } from '../../lib/package-version.ts';
import { refuse, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { UpgradeState } from '../supervisor/process-messages.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';

/** `sessions`: those of a server that is one process go to another one; `workers`: theirs do, one worker after the other, and then the coordinator restarts. */
export type UpgradeKind = 'sessions' | 'workers';

export interface UpgradeControl {
  /** Returns at once; fails with a sentence for the operator. */
  begin(): Result<UpgradeKind, string>;
  readonly state: UpgradeState;
}

/** As `GET /v1/upgrade` answers it. */
export interface UpgradeJson {
  readonly pid: number;
  readonly version: string;
  readonly upgrading: boolean;
  readonly failure: string | null;
}

/** As `POST /v1/upgrade` answers it. */
export interface UpgradeBegunJson {
  readonly upgrading: true;
  readonly kind: UpgradeKind;
  readonly pid: number;
  readonly version: string;
}

export function upgradeRoutes(control: UpgradeControl): AdminRoute[] {
  const { pid } = process;
  const version = readVersion();
  return [
    {
      method: 'GET',
      path: '/v1/upgrade',
      handle: async () => {
        const { isUnderWay: upgrading, failure } = control.state;
        return { status: 200, body: { pid, version, upgrading, failure } satisfies UpgradeJson };
      },
    },
    {
      method: 'POST',
      path: '/v1/upgrade',
      audit: { action: 'server.upgrade' },
      handle: async () => {
        const begun = control.begin();
        if (!begun.ok) return refuse(409, begun.error);
        const body: UpgradeBegunJson = { upgrading: true, kind: begun.value, pid, version };
        return { status: 200, body };
      },
    },
  ];
}

const idle: UpgradeState = { isUnderWay: false, failure: null };

/** Of a server that no `serve` process stands behind, and of the coordinator of several processes. */
export function upgradeOf(handle: WorkerHandle | null): UpgradeControl {
  if (handle === null)
    return { begin: () => fail('this server is part of another program: restart that'), state: idle };
  return {
    begin: () => {
      if (handle.upgrade().isUnderWay) return fail('an upgrade is under way');
      handle.report({ kind: 'upgrade' });
      return succeed('workers');
    },
    get state() {
      return handle.upgrade();
    },
  };
}

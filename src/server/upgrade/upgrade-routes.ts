/** The routes of an upgrade: it is begun, and asked how far it is or how the last one ended. */
import { fail, type Result } from '../../lib/result.ts';
import { readVersion } from '../../lib/package-version.ts';
import { refuse, type AdminRoute } from '../../gateways/ops/admin-route.ts';

export interface UpgradeState {
  readonly isUnderWay: boolean;
  /** Why the last one left this release serving; null: there was none. */
  readonly failure: string | null;
}

export interface UpgradeControl {
  /** Returns at once; fails with a sentence for the operator. */
  begin(): Result<null, string>;
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
        return { status: 200, body: { upgrading: true, pid, version } satisfies UpgradeBegunJson };
      },
    },
  ];
}

/** `reason`: a sentence for the operator. */
export function noUpgrade(reason: string): UpgradeControl {
  return { begin: () => fail(reason), state: { isUnderWay: false, failure: null } };
}

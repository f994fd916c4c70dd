/**
 * The routes of an upgrade: they begin it, and show its state and how the last one ended. Source: scale-out.md, Edges;
 * docs/upgrading.md.
 */
import { z } from 'zod';
import { readVersion } from '../../lib/package-version.ts';
import type { Result } from '../../lib/result.ts';
import { changeRoute, readRoute, refuse, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { UpgradeState } from './core-task.ts';

export interface UpgradeControl {
  /** Returns at once; fails with a sentence for the operator. `edges`: they are replaced as well. */
  begin(edges: boolean): Result<undefined, string>;
  readonly state: UpgradeState;
}

/** As `GET /v1/upgrade` answers it. */
export interface UpgradeJson {
  /** Of the core. */
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

const bodyForm = z.strictObject({ edges: z.boolean().default(false) });

export function upgradeRoutes(control: UpgradeControl): AdminRoute[] {
  const { pid } = process;
  const version = readVersion();
  return [
    readRoute('/v1/upgrade', z.strictObject({}), async () => {
      const { isUnderWay: upgrading, failure } = control.state;
      return { status: 200, body: { pid, version, upgrading, failure } satisfies UpgradeJson };
    }),
    changeRoute('/v1/upgrade', bodyForm, { action: 'server.upgrade' }, async ({ edges }) => {
      const begun = control.begin(edges);
      if (!begun.ok) return refuse(409, begun.error);
      return { status: 200, body: { upgrading: true, pid, version } satisfies UpgradeBegunJson };
    }),
  ];
}

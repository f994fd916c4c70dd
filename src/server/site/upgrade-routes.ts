/**
 * Routes that begin an upgrade, and show its state and the result of the last one. Source: scale-out.md, Edges; docs/upgrading.md.
 */
import { z } from 'zod';
import { readVersion } from '../../lib/package-version.ts';
import { fail, type Result } from '../../lib/result.ts';
import { changeRoute, readRoute, refuse, type AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { UpgradeControl, UpgradeState } from './core-task.ts';

const bodyForm = z.strictObject({ edges: z.boolean().default(false) });

export function upgradeRoutes(control: UpgradeControl): AdminRoute[] {
  return [
    readRoute('/v1/upgrade', z.strictObject({}), async () => encodeUpgrade(control.state)),
    changeRoute(
      '/v1/upgrade',
      bodyForm,
      async ({ edges }) => {
        const begun = control.begin(edges);
        if (!begun.ok) return refuse(409, begun.error);
        return { upgrading: true, ...encodeCore() };
      },
      { action: 'server.upgrade' },
    ),
  ];
}

export type CoreJson = ReturnType<typeof encodeCore>;

function encodeCore() {
  return { pid: process.pid, version: readVersion() };
}

export type UpgradeJson = ReturnType<typeof encodeUpgrade>;

function encodeUpgrade({ isUnderWay: upgrading, failure }: UpgradeState) {
  return { ...encodeCore(), upgrading, failure };
}

/** For a server that holds its own sleep sessions, which would end with it. */
export function refusedUpgrade(isNode: boolean, sessions: () => number): UpgradeControl {
  const begin = (): Result<never, string> => {
    const closes = `would close the sleep sessions here (${sessions()})`;
    return fail(
      isNode
        ? `an upgrade of a node ${closes}: restart the nodes one after another`
        : `without edges an upgrade ${closes}: run the server with --edges 2, and later upgrades close none; ` +
            'or stop it, and start it',
    );
  };
  return { begin, state: { isUnderWay: false, failure: null } };
}

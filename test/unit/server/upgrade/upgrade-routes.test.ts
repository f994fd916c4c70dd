import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdminReply, AdminRequest } from '../../../../src/gateways/ops/admin-route.ts';
import type { ProcessReport } from '../../../../src/server/supervisor/process-messages.ts';
import type { WorkerHandle } from '../../../../src/server/supervisor/worker-set.ts';
import {
  upgradeOf,
  upgradeRoutes,
  type UpgradeControl,
} from '../../../../src/server/upgrade/upgrade-routes.ts';

const nothing: AdminRequest = { query: new URLSearchParams(), body: undefined };

function ask(control: UpgradeControl, method: 'GET' | 'POST'): Promise<AdminReply> {
  const route = upgradeRoutes(control).find((one) => one.method === method);
  return route?.handle(nothing) ?? assert.fail(method);
}

test('an upgrade that begins is answered at once, and one that cannot says why', async () => {
  const state = { isUnderWay: true, failure: 'the new release ended' };
  const begun = await ask({ begin: () => ({ ok: true, value: 'sessions' }), state }, 'POST');
  assert.equal(begun.status, 200);
  assert.deepEqual(begun.body, {
    ...(begun.body as object),
    upgrading: true,
    kind: 'sessions',
    pid: process.pid,
  });
  const refused = await ask({ begin: () => ({ ok: false, error: 'one is under way' }), state }, 'POST');
  assert.deepEqual(refused, { status: 409, body: { error: 'one is under way' } });
  const { body } = await ask({ begin: () => assert.fail('it is only asked'), state }, 'GET');
  assert.deepEqual(body, { ...(body as object), upgrading: true, failure: 'the new release ended' });
});

test('of several processes it is asked of the supervisor, once, and a server within another program is not upgraded', async () => {
  const reports: ProcessReport[] = [];
  const handle = {
    report: (report: ProcessReport) => void reports.push(report),
    upgrade: () => ({ isUnderWay: reports.length > 0, failure: null }),
  } as unknown as WorkerHandle;
  const { body } = await ask(upgradeOf(handle), 'POST');
  assert.equal((body as { kind: string }).kind, 'workers');
  assert.equal((await ask(upgradeOf(handle), 'POST')).status, 409);
  assert.deepEqual(reports, [{ kind: 'upgrade' }]);
  const asked = await ask(upgradeOf(handle), 'GET');
  assert.equal((asked.body as { upgrading: boolean }).upgrading, true);
  const { status } = await ask(upgradeOf(null), 'POST');
  assert.equal(status, 409);
});

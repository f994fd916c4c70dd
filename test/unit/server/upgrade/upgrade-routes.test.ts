import assert from 'node:assert/strict';
import { test } from 'node:test';
import { succeed } from '../../../../src/lib/result.ts';
import type { AdminReply, AdminRequest } from '../../../../src/gateways/ops/admin-route.ts';
import {
  noUpgrade,
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
  const begun = await ask({ begin: () => succeed(null), state }, 'POST');
  assert.equal(begun.status, 200);
  assert.deepEqual(begun.body, { ...(begun.body as object), upgrading: true, pid: process.pid });
  const refused = await ask(noUpgrade('restart that'), 'POST');
  assert.deepEqual(refused, { status: 409, body: { error: 'restart that' } });
  const { body } = await ask({ begin: () => assert.fail('it is only asked'), state }, 'GET');
  assert.deepEqual(body, { ...(body as object), upgrading: true, failure: 'the new release ended' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { succeed } from '../../../../src/lib/result.ts';
import type { UpgradeControl } from '../../../../src/server/site/core-task.ts';
import { refusedUpgrade, upgradeRoutes } from '../../../../src/server/site/upgrade-routes.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';

function ask(control: UpgradeControl, method: 'GET' | 'POST', body?: object): Promise<RouteReply> {
  return askRoute(upgradeRoutes(control), method, '/v1/upgrade', body);
}

const state = { isUnderWay: true, failure: 'the new release ended' };

test('the start of an upgrade is answered at once, and its state is shown', async () => {
  const asked: boolean[] = [];
  const control: UpgradeControl = {
    begin: (edges) => {
      asked.push(edges);
      return succeed(undefined);
    },
    state,
  };
  const begun = await ask(control, 'POST', {});
  assert.equal(begun.status, 200);
  assert.deepEqual(begun.body, { ...(begun.body as object), upgrading: true, pid: process.pid });
  await ask(control, 'POST', { edges: true });
  assert.deepEqual(asked, [false, true]);
  const { body } = await ask(control, 'GET');
  assert.deepEqual(body, { ...(body as object), upgrading: true, failure: 'the new release ended' });
});

test('a server without edges reports how many sessions an upgrade would close', async () => {
  for (const [isNode, advice] of [
    [false, /\(60\): run the server with --edges 2/],
    [true, /\(60\): restart the nodes one after another/],
  ] as const) {
    const { status, body } = await ask(
      refusedUpgrade(isNode, () => 60),
      'POST',
      {},
    );
    assert.equal(status, 409);
    assert.match((body as { readonly error: string }).error, advice);
  }
});

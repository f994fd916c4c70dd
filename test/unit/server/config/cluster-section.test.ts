import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings, maskUserInfo } from '../../../../src/server/config/settings.ts';
import { problemsOf } from '../../../support/setting-problems.ts';

test('a node is standalone by default', () => {
  assert.deepEqual(loadSettings({ env: {} }).cluster, {
    nats_url: null,
    nats_credentials: null,
    nats_ca: null,
    nats_prefix: 'reveille',
    node_name: null,
    replicas: 1,
  });
});

test('several NATS servers, and names in any script, are accepted', () => {
  const { cluster } = loadSettings({
    env: {
      REVEILLE_CLUSTER_NATS_URL: 'nats://one:4222, tls://user:word@[::1]:4223,nats://three',
      REVEILLE_CLUSTER_NODE_NAME: 'Knoten 1 / Süd',
      REVEILLE_CLUSTER_REPLICAS: '3',
      REVEILLE_CLUSTER_NATS_PREFIX: 'north-1_b',
    },
  });
  assert.equal(cluster.node_name, 'Knoten 1 / Süd');
  assert.equal(cluster.replicas, 3);
});

for (const [variable, values] of Object.entries({
  NATS_URL: ['http://host', 'nats://', 'host:4222', 'nats://one,,nats://two', 'nats:// two'],
  NATS_PREFIX: ['', 'a.b', 'a b', 'a>', 'x'.repeat(65)],
  NODE_NAME: ['two\nlines', 'x'.repeat(256)],
  REPLICAS: ['0', '2', '4', '7'],
}))
  for (const value of values)
    test(`${variable} cannot be ${JSON.stringify(value).slice(0, 40)}`, () => {
      assert.equal(problemsOf({ env: { [`REVEILLE_CLUSTER_${variable}`]: value } }).length, 1);
    });

test('passwords in NATS URLs are shown neither in settings in force nor in problems', () => {
  const shownOf = (url: string): unknown =>
    maskUserInfo(loadSettings({ env: { REVEILLE_CLUSTER_NATS_URL: url } }).cluster.nats_url);
  assert.equal(shownOf('nats://user:hush@one,tls://user:hush@two'), 'nats://***@one,tls://***@two');
  for (const token of ['hush', 'hu/hush', 'hu,hush', 'hu@hush'])
    assert.doesNotMatch(
      problemsOf({ env: { REVEILLE_CLUSTER_NATS_URL: `http://${token}@one` } }).join(),
      /hush/,
    );
  assert.equal(shownOf('nats://hush@one'), 'nats://***@one');
});

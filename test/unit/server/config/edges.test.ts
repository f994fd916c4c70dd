import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edgeSleepSettings } from '../../../../src/server/config/derived-settings.ts';
import { findInForce } from '../../../../src/server/config/settings-in-force.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { problemsOf } from '../../../support/setting-problems.ts';

test('a server has no edges unless they are configured, and at most 64', () => {
  assert.equal(loadSettings({ env: {} }).sleep.edges, 0);
  assert.equal(loadSettings({ env: { REVEILLE_SLEEP_EDGES: '64' } }).sleep.edges, 64);
  assert.equal(problemsOf({ env: { REVEILLE_SLEEP_EDGES: '65' } }).length, 1);
});

test('edges are refused in a cluster', () => {
  assert.deepEqual(
    problemsOf({ env: { REVEILLE_SLEEP_EDGES: '2', REVEILLE_CLUSTER_NATS_URL: 'nats://host' } }),
    [
      'REVEILLE_SLEEP_EDGES (sleep.edges): expected 0 with cluster.nats_url: a node of a cluster holds its sleep connections itself; got 2',
    ],
  );
});

test('edges elsewhere need a core that has edges', () => {
  const elsewhere = { REVEILLE_EDGES_LISTEN: '0.0.0.0:8086', REVEILLE_EDGES_KEY_FILE: 'edges.key' };
  assert.deepEqual(problemsOf({ env: elsewhere }), [
    'sleep.edges: expected 1 or more with edges.listen: a server without edges of its own accepts none from elsewhere; got null',
  ]);
  assert.equal(loadSettings({ env: { ...elsewhere, REVEILLE_SLEEP_EDGES: '1' } }).sleep.edges, 1);
});

test('edges of one machine divide the rates of logins; the core counts the sessions of all', () => {
  const env = { REVEILLE_SLEEP_EDGES: '4', REVEILLE_SLEEP_ACCEPTS_PER_SECOND: '1001' };
  const { sleep } = loadSettings({ env });
  const edge = edgeSleepSettings(loadSettings({ env }));
  assert.equal(edge.accepts_per_second, 251);
  assert.equal(edge.handshakes_max, sleep.handshakes_max / 4);
  assert.equal(edge.admission_queue_max, sleep.admission_queue_max / 4);
  assert.equal(edge.max_sessions, sleep.max_sessions);
});

test('each edge has its own open file limit', () => {
  const settings = loadSettings({ env: { REVEILLE_SLEEP_EDGES: '3' } });
  const inForce = findInForce(settings, { openFilesMax: 2024, processors: 2, sharers: 1 });
  assert.equal(inForce.get('sleep.max_sessions')?.value, 3000);
});

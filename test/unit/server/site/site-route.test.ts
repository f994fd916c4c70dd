import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readVersion } from '../../../../src/lib/package-version.ts';
import type { EdgeFacts } from '../../../../src/edge/sleep-front.ts';
import { noPartsYet, type CountedParts } from '../../../../src/server/bootstrap/metric-sources.ts';
import type { CoreSite, SiteChild } from '../../../../src/server/site/core-task.ts';
import { siteRoute, type SiteJson } from '../../../../src/server/site/site-route.ts';
import { askRoute } from '../../../support/ask-route.ts';

const release = readVersion();
const startedMs = Date.UTC(2026, 10, 20, 8, 30);
const address = { host: '127.0.0.1', port: 8081 };

function edge(name: string, given: Partial<EdgeFacts> = {}): EdgeFacts {
  const facts = { name, isLocal: true, state: 'listening', pid: 7, release, address, advertise: [] } as const;
  return { ...facts, sessions: 3, linkDelayMs: 0.25, ...given };
}

function child(name: string, given: Partial<SiteChild> = {}): SiteChild {
  const kind = name === 'core' ? 'core' : 'edge';
  return { name, kind, state: 'up', pid: 7, release, restarts: 0, sinceMs: startedMs, ...given };
}

async function siteOf(parts: Partial<CountedParts>): Promise<SiteJson> {
  const { status, body } = await askRoute(
    [siteRoute({ ...noPartsYet(), ...parts }, false)],
    'GET',
    '/v1/site',
  );
  assert.equal(status, 200);
  return body as SiteJson;
}

async function processesOf(site: CoreSite | null): Promise<SiteJson['processes']> {
  return (await siteOf({ site })).processes;
}

test('a server without edges lists only its core', async () => {
  const [core, ...others] = await processesOf(null);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [core?.name, core?.state, core?.pid, core?.sleep_sessions],
    ['core', 'up', process.pid, 0],
  );
});

test('an edge is shown with facts of its link, or of its supervisor while it has none', async () => {
  const [, up, linked, down] = await processesOf({
    edges: () => [edge('edge-0'), edge('edge-1', { state: 'linked', sessions: 0 })],
    children: () => [
      child('core', { restarts: 2 }),
      child('edge-0', { restarts: 1 }),
      child('edge-1'),
      child('edge-2', { state: 'down', pid: null, release: null, restarts: 5 }),
    ],
  });
  assert.deepEqual(up, {
    name: 'edge-0',
    kind: 'edge',
    state: 'up',
    pid: 7,
    release,
    sleep_sessions: 3,
    link_delay_ms: 0.25,
    restarts: 1,
    since: '2026-11-20T08:30:00.000Z',
  });
  assert.deepEqual([linked?.state, linked?.sleep_sessions], ['linked', 0]);
  assert.deepEqual([down?.state, down?.pid, down?.sleep_sessions, down?.restarts], ['down', null, null, 5]);
});

test('an edge elsewhere has no supervisor here, and keeps its sessions for a while when away', async () => {
  const [core, north] = await processesOf({
    edges: () => [edge('north', { isLocal: false, state: 'away', linkDelayMs: null })],
    children: () => [child('core', { restarts: 2 })],
  });
  assert.equal(core?.restarts, 2);
  assert.deepEqual(
    [north?.name, north?.state, north?.sleep_sessions, north?.link_delay_ms, north?.restarts],
    ['north', 'away', 3, null, null],
  );
});

test('fronts are shown as threads of the core', async () => {
  assert.deepEqual((await siteOf({})).fronts, []);
  const front = { name: 'front-0', state: 'up', connections: 3, restarts: 1 } as const;
  const calls = { waitingCalls: 2, openCalls: 4 };
  const figures = {
    fronts: [{ ...front, ...calls, utilization: 0.123_456, sinceMs: Date.UTC(2026, 10, 20) }],
    replacements: { ended: 1, stuck: 0, credentials: 0 },
    refusedCalls: 0,
  };
  const { processes, fronts } = await siteOf({ fronts: { figures } });
  assert.equal(processes.length, 1);
  assert.deepEqual(fronts, [
    {
      ...front,
      waiting_calls: 2,
      open_calls: 4,
      utilization: 0.123,
      since: '2026-11-20T00:00:00.000Z',
    },
  ]);
});

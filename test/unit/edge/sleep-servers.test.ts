/** The sleep servers of a site, and the list for one controller. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EdgeFacts } from '../../../src/edge/sleep-front.ts';
import { liveSleepServers, sleepServersFor } from '../../../src/edge/sleep-servers.ts';
import type { DeviceId } from '../../../src/model/ids.ts';
import { EdgeScene } from '../../support/edge-scene.ts';

const own = ['here.example:8081'];
const four = ['a:1', 'b:1', 'c:1', 'd:1'].map((address) => [address]);

function edge(given: Partial<EdgeFacts>): EdgeFacts {
  return {
    name: 'north',
    isLocal: false,
    state: 'listening',
    pid: 1,
    release: '1.2.3',
    address: { host: '192.0.2.7', port: 8081 },
    advertise: [],
    sessions: 0,
    linkDelayMs: null,
    ...given,
  };
}

function device(number: number): DeviceId {
  return `DEVICE-${number}` as DeviceId;
}

test('edges of this machine are one sleep server, and an edge elsewhere is one by the addresses that it advertises', () => {
  const edges = [
    edge({ isLocal: true }),
    edge({ isLocal: true }),
    edge({ advertise: ['north.example:8081'] }),
    edge({}),
  ];
  assert.deepEqual([...sleepServersFor(device(1), liveSleepServers(own, edges))].sort(), [
    '192.0.2.7:8081',
    'here.example:8081',
    'north.example:8081',
  ]);
});

test('edges that advertise one address are one sleep server', () => {
  const edges = [edge({ advertise: ['x:1', 'y:1'] }), edge({ advertise: ['x:1', 'y:1'] })];
  assert.deepEqual(sleepServersFor(device(1), liveSleepServers(own, edges)), ['x:1', 'y:1']);
});

test('a controller does not receive an edge that is away or does not listen yet', () => {
  const edges = [
    edge({ isLocal: true }),
    edge({ state: 'away', advertise: ['away:1'] }),
    edge({ state: 'linked', advertise: ['linked:1'] }),
  ];
  assert.deepEqual(sleepServersFor(device(1), liveSleepServers(own, edges)), own);
});

test('a controller receives the addresses of this machine while no edge accepts', () => {
  assert.deepEqual(liveSleepServers(own, []), [own]);
  assert.deepEqual(liveSleepServers(own, [edge({ state: 'away' })]), [own]);
});

test('an edge whose link is cut leaves the list, and returns to it with its next link', async () => {
  const scene = new EdgeScene();
  const live = (): unknown => liveSleepServers(own, scene.gate.edges());
  const north = scene.edge({ advertise: ['north:1'] }, false);
  north.end.listening(north.port);
  await north.link();
  assert.deepEqual(live(), [['north:1']]);
  await north.cut();
  assert.deepEqual(live(), [own]);
  await north.link();
  assert.deepEqual(live(), [['north:1']]);
});

test('a controller receives at most three addresses, always the same in the same order', () => {
  const given = sleepServersFor(device(1), four);
  assert.equal(given.length, 3);
  assert.deepEqual(sleepServersFor(device(1), [...four].reverse()), given);
});

test('devices spread evenly over the sleep servers', () => {
  const first = Array.from({ length: 4000 }, (_, number) => sleepServersFor(device(number), four)[0]);
  for (const [address] of four) {
    const share = first.filter((other) => other === address).length;
    assert.ok(share > 900 && share < 1100, `${address}: ${share} of 4000`);
  }
});

test('a sleep server that leaves changes only the lists of its own devices', () => {
  for (let number = 0; number < 100; number += 1) {
    const before = sleepServersFor(device(number), four);
    const after = sleepServersFor(device(number), four.slice(1));
    const kept = before.filter((address) => address !== 'a:1');
    assert.deepEqual(after.slice(0, kept.length), kept);
    if (kept.length === 3) assert.deepEqual(after, before);
  }
});

test('second addresses follow the first addresses of all servers', () => {
  const given = sleepServersFor(device(1), [
    ['a:1', 'a:2'],
    ['b:1', 'b:2'],
  ]);
  assert.deepEqual(given.slice(0, 2).sort(), ['a:1', 'b:1']);
  assert.equal(given[2], `${given[0]?.charAt(0)}:2`);
  assert.deepEqual(sleepServersFor(device(1), [['a:1', 'a:2', 'a:3', 'a:4']]), ['a:1', 'a:2', 'a:3']);
});

/** Tests the verdicts of the soak: growth is found, also with noise and upgrades, and flat series pass. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soakPlan } from '../../soak/server/plan.ts';
import type { LoadSample, ProcessSample, Sample } from '../../soak/server/samples.ts';
import { trendOf } from '../../soak/server/slopes.ts';
import { Timeline } from '../../soak/server/timeline.ts';
import { complaintsOf, grows, judge, missedLeaks } from '../../soak/server/verdicts.ts';
import { chanceFrom } from '../../support/seeded-random.ts';

const plan = soakPlan({ seconds: 3600, upgradeEverySeconds: 600 });
const everySeconds = 30;
const upgradeSeconds = 20;
const roles = { supervisor: 1, core: 2, media: 3 };
const chance = chanceFrom(1);

/** Resources of a process, as functions of its age and of the time of the run. */
interface Growth {
  (metric: keyof typeof flat, role: string, atSeconds: number, ageSeconds: number): number;
}

const flat = { liveMiB: 60, rssAnonMiB: 120, descriptors: 5000, timers: 12 };
const noise = { liveMiB: 1, rssAnonMiB: 10, descriptors: 6, timers: 4 };
const none: Growth = () => 0;

/** Samples of an hour in which edges are replaced every ten minutes; their resources depend on their age. */
function soaked(growth: Growth, errors: LoadSample['errors'] = {}): readonly Sample[] {
  const samples: Sample[] = [{ kind: 'deed', at: 0, what: 'loaded' }];
  const generation = (at: number): number => Math.floor(at / plan.upgradeEverySeconds);
  const members = new Set<number>();
  for (let at = everySeconds; at < plan.seconds; at += everySeconds) {
    const edges = [1, 2].map((number) => 10 * (generation(at) + 1) + number);
    for (const [role, pid] of [...Object.entries(roles), ...edges.map((pid) => ['edge', pid] as const)]) {
      if (!members.has(pid)) samples.push({ kind: 'member', at, pid, role: role as 'edge' });
      members.add(pid);
      const age = role === 'edge' ? at % plan.upgradeEverySeconds : at;
      samples.push(sampleOf(pid, at, (metric) => growth(metric, role, at, age)));
    }
    samples.push(loadOf(at, errors));
    if (at % plan.upgradeEverySeconds !== 0) continue;
    samples.push({ kind: 'deed', at, what: 'upgrade-begin' });
    samples.push({ kind: 'deed', at: at + upgradeSeconds, what: 'upgrade-end' });
  }
  return [...samples, { kind: 'deed', at: plan.seconds, what: 'end' }];
}

function sampleOf(pid: number, at: number, grown: (metric: keyof typeof flat) => number): ProcessSample {
  const held = (metric: keyof typeof flat): number =>
    flat[metric] + grown(metric) + (chance.below(1000) / 1000) * noise[metric];
  return {
    kind: 'process',
    at,
    pid,
    isCollected: true,
    liveMiB: held('liveMiB'),
    rssAnonMiB: held('rssAnonMiB'),
    descriptors: held('descriptors'),
    timers: held('timers'),
  };
}

function loadOf(at: number, errors: LoadSample['errors']): LoadSample {
  const latency = { count: 250, p50Ms: 2, p99Ms: 20 + chance.below(20), maxMs: 80 };
  return {
    kind: 'load',
    at,
    asleep: 10_000,
    awake: 20,
    wakeups: latency,
    events: latency,
    deliveries: latency,
    pictures: 150,
    errors,
  };
}

function grown(growth: Growth): readonly string[] {
  return judge(new Timeline(soaked(growth)), false)
    .filter(grows)
    .map(({ what }) => what);
}

test('a server without growth is flat, despite noise and upgrades', () => {
  const timeline = new Timeline(soaked(none));
  assert.equal(timeline.upgrades.length, 5);
  assert.deepEqual(complaintsOf(timeline, judge(timeline, false)), []);
});

test('a memory leak of edges is found, although each upgrade frees it', () => {
  const leak: Growth = (metric, role, _at, age) =>
    role === 'edge' && (metric === 'liveMiB' || metric === 'rssAnonMiB') ? (age / 3600) * 200 : 0;
  assert.deepEqual(grown(leak), ['edges together: memory alive', 'edges together: memory from the kernel']);
});

test('leaks of descriptors and timers in the core are found', () => {
  const leak: Growth = (metric, role, at) =>
    role === 'core' && (metric === 'descriptors' || metric === 'timers') ? at / 60 : 0;
  assert.deepEqual(grown(leak), ['core: descriptors', 'core: timers']);
});

test('a single step is not a trend', () => {
  const once: Growth = (metric, role, at) => (metric === 'liveMiB' && role === 'media' && at > 3000 ? 40 : 0);
  assert.deepEqual(grown(once), []);
});

test('a burst of other work in a fifth of the time neither hides nor creates a trend', () => {
  const burst = (at: number): number => (at % 3600 < 720 ? 500 : 0);
  const points = Array.from({ length: 240 }, (_, index) => ({ at: index * 15, stratum: 'all' }));
  const rising = points.map((point) => ({ ...point, value: point.at / 36 + burst(point.at + 1200) }));
  assert.ok(Math.abs((trendOf(rising)?.perHour ?? NaN) - 100) < 60);
  const level = points.map((point) => ({ ...point, value: 20 + burst(point.at + 1200) }));
  assert.equal(trendOf(level)?.perHour, 0);
});

test('missing packets and lost events always fail, closed connections only outside of upgrades', () => {
  const errors = {
    'wakeup: no packet': 1,
    'reader: events were lost': 1,
    'device: the signal connection was closed': 1,
    'wakeup: 40412': 1,
  };
  const timeline = new Timeline(soaked(none, errors));
  const complaints = complaintsOf(timeline, judge(timeline, false));
  assert.equal(complaints.length, 5);
  assert.match(
    complaints.join(),
    /no packet.*events were lost.*signal connection.*no packet.*events were lost/,
  );
});

test('a soak without samples fails', () => {
  const timeline = new Timeline([{ kind: 'deed', at: 0, what: 'loaded' }]);
  const verdicts = judge(timeline, false);
  assert.equal(complaintsOf(timeline, verdicts).length, verdicts.length);
});

test('a canary passes if all of its leaks are found, and missed ones are named', () => {
  const leak: Growth = (metric, _role, _at, age) => (metric === 'timers' ? age : 0);
  const verdicts = judge(new Timeline(soaked(leak)), false);
  assert.deepEqual(missedLeaks(verdicts, ['timer']), []);
  assert.equal(missedLeaks(verdicts, ['timer', 'memory']).length, 4);
});

test('on a machine with other work a growing latency is shown but does not fail', () => {
  const timeline = new Timeline(soaked(none));
  const shown = judge(timeline, true).filter(({ bound }) => bound === null);
  assert.deepEqual(
    shown.map(({ unit }) => unit),
    ['ms', 'ms', 'ms'],
  );
});

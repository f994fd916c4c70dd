/** One run: the faults of a seed, and the checks of the server's behaviour. */
import { seedProcess } from './seeded-process.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';
import { Backend } from './backend.ts';
import type { Canary } from './canaries.ts';
import { checkAtRest, checkLog, checkRows, checkStopped, recordCalls } from './checks.ts';
import { Device } from './device.ts';
import { Callers } from './media.ts';
import { Operator } from './operator.ts';
import { Requests } from './requests.ts';
import { checkKnown } from './registry-checks.ts';
import { corePauseMsMax, Site, type Topology, type Weather } from './site.ts';
import type { Checked } from './evidence.ts';

export interface RunOptions {
  /** Null: chosen by the seed. */
  readonly topology?: Topology | null;
  readonly canary?: Canary | null;
  readonly keepsAll?: boolean;
}

export interface RunResult {
  readonly seed: number;
  readonly topology: Topology;
  readonly violation: string | null;
  readonly trace: readonly string[];
  readonly hash: string;
  readonly checked: ReadonlyMap<Checked, number>;
  readonly steps: number;
}

const topologies: readonly Topology[] = ['alone', 'edges', 'nodes'];

const startMs = 4000;
const chaosMs = 40_000;
const calmMs = 95_000;
const stopMs = 60_000;
/** Milliseconds after which concurrent changes have reached all nodes. */
const knownMs = 15_000;

export async function simulate(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const restore = seedProcess(seed);
  const chance = chanceFrom(seed);
  const drawn = topologies[chance.below(topologies.length)] ?? 'alone';
  const topology = options.topology ?? options.canary?.topology ?? drawn;
  const { canary = null, keepsAll = false } = options;
  const site = new Site(chance, { topology, weather: weatherOf(chance), canary, keepsAll });
  const escaped = (error: unknown): void =>
    site.evidence.violated(9, `an uncaught error: ${(error as Error).stack ?? String(error)}`);
  process.on('unhandledRejection', escaped);
  try {
    await live(site);
  } catch (error) {
    escaped(error);
  } finally {
    process.off('unhandledRejection', escaped);
    restore();
  }
  const { evidence, timeline } = site;
  const { violation, trace, checked } = evidence;
  return { seed, topology, violation, trace, hash: evidence.hash(), checked, steps: timeline.taken };
}

function weatherOf(chance: Chance): Weather {
  const isRough = chance.next() < 0.6;
  return {
    isFair: false,
    slowMs: isRough ? 1500 : 100,
    lossShare: isRough ? 0.03 : 0,
    refusedCommits: chance.next() < 0.4 ? 0.05 : 0,
    deadlyCommits:
      chance.next() < 0.3
        ? { state: 0.002, registry: 0.2, webhooks: 0.02 }
        : { state: 0, registry: 0, webhooks: 0 },
    stuckWrites: 0.05,
  };
}

async function live(site: Site): Promise<void> {
  const { timeline, evidence } = site;
  const devices = site.devices.map((deviceId) => new Device(site, deviceId));
  const requests = new Requests(site);
  const callers = new Callers(site);
  const backend = new Backend(site, requests, callers);
  const operator = new Operator(site, requests);
  const isOver = (): boolean => evidence.violation !== null;
  checkRows(site);
  recordCalls(site);
  site.startAll();
  await timeline.pass(startMs);
  for (const device of devices) device.start();
  callers.start();
  backend.follow();
  stirUntil(site, startMs + chaosMs, { devices, backend, operator, callers });
  await passUnless(site, chaosMs, isOver);
  if (isOver()) return;
  site.heal();
  evidence.record('everything is healed');
  for (const device of devices) device.finish(site.chance.next() < 0.5);
  callers.finish();
  // Concurrent changes have reached all nodes by then.
  timeline.after(knownMs, null, () => {
    checkKnown(site);
    void operator.finish(0.2);
  });
  // A process that was being stopped also restarts.
  await passUnless(site, calmMs, isOver, () => {
    for (const place of site.places) if (place.life === null) site.start(place);
  });
  if (isOver()) return;
  evidence.restSequence = typeof backend.cursor === 'number' ? backend.cursor : 0;
  await checkAtRest(site, devices, backend);
  if (isOver()) return;
  backend.stopReading();
  callers.stop();
  for (const device of devices) device.leaveForGood();
  await timeline.pass(5000);
  const lives = site.places.flatMap(({ life }) => life ?? []);
  let stopped = 0;
  for (const place of site.places) void site.stop(place).then(() => (stopped += 1));
  await timeline.pass(stopMs);
  if (stopped < site.places.length) evidence.violated(8, 'a process does not stop within a minute');
  for (const { life } of site.edges) void life?.stop();
  await timeline.pass(1000);
  checkStopped(site, lives);
  checkLog(site);
}

/** Advances in slices, so that a failed run ends early. */
async function passUnless(
  { timeline }: Site,
  ms: number,
  isOver: () => boolean,
  each: () => void = () => undefined,
): Promise<void> {
  for (let left = ms; left > 0 && !isOver(); left -= 1000) {
    each();
    await timeline.pass(Math.min(1000, left));
  }
}

interface Actors {
  readonly devices: readonly Device[];
  readonly backend: Backend;
  readonly operator: Operator;
  readonly callers: Callers;
}

function stirUntil(site: Site, endMs: number, actors: Actors): void {
  const { timeline, chance } = site;
  const again = (meanMs: number, act: () => void): void => {
    timeline.after(-Math.log(1 - chance.next()) * meanMs, null, () => {
      if (timeline.nowMs >= endMs) return;
      act();
      again(meanMs, act);
    });
  };
  again(500, () => actors.backend.stir());
  again(1200, () => actors.devices[chance.below(actors.devices.length)]?.stir());
  again(1500 + chance.next() * 8000, () => actors.operator.stir());
  again(6000, () => site.receivers.stir());
  again(8000, () => actors.callers.stir());
  if (chance.next() < 0.3) again(12_000, () => setClock(site));
  // A fifth of the runs have no site faults, so that no immediate check is suspended.
  if (chance.next() < 0.8) again(2000 + chance.next() * 8000, () => stirSite(site, endMs));
  if (site.edges.length > 0) again(2000 + chance.next() * 8000, () => stirEdges(site, endMs));
}

/** Sets the clock of a machine by seconds or minutes, and sometimes back later. */
function setClock(site: Site): void {
  const { chance } = site;
  const places = [...site.places, ...site.edges.filter(({ isLocal }) => !isLocal)];
  const place = places[chance.below(places.length)];
  const mostMs = chance.next() < 0.5 ? 3000 : 150_000;
  if (place !== undefined) site.setClock(place, (2 * chance.next() - 1) * mostMs);
}

/** Causes a random fault; a pause ends by `endMs`, so that its backlog is processed before the rest. */
function stirSite(site: Site, endMs: number): void {
  const { chance, timeline } = site;
  const place = site.places[chance.below(site.places.length)];
  if (place === undefined) return;
  const lot = chance.next();
  const back = (ms: number): void =>
    void timeline.after(ms, null, () => {
      if (place.life === null && !site.weather.isFair) site.start(place);
    });
  if (lot < 0.06) site.hang(place, endMs - timeline.nowMs);
  else if (lot < 0.3) {
    const ms = chance.next() < 0.7 ? chance.next() * 3000 : chance.next() * 16_000;
    const mostMs = site.topology === 'edges' ? corePauseMsMax : Infinity;
    site.pause(place, Math.min(ms, mostMs, endMs - timeline.nowMs));
  } else if (lot < 0.6 && site.topology === 'nodes') {
    site.cut(place);
    timeline.after(chance.next() * 18_000, null, () => site.mend(place));
  } else if (lot < 0.85 && place.life !== null) {
    site.crash(place);
    back(site.topology === 'edges' ? 100 + chance.next() * 4000 : 500 + chance.next() * 16_000);
  } else if (place.life?.member.isUp === true)
    void site.stop(place).then(() => back(500 + chance.next() * 3000));
}

function stirEdges(site: Site, endMs: number): void {
  const { chance, timeline, edges } = site;
  const edge = edges[chance.below(edges.length)];
  if (edge === undefined) return;
  const lot = chance.next();
  const leftMs = endMs - timeline.nowMs;
  if (lot < 0.25) edge.crash();
  else if (lot < 0.5) edge.pause(Math.min(chance.next() * 12_000, leftMs));
  else if (edge.isLocal) edge.loseLink();
  else edge.cut(Math.min(chance.next() * 18_000, leftMs));
}

/** One application that wakes a few of its devices, alone and beside another one that wakes as many as it can. */
import { CpuTally, familyOf } from './family.ts';
import type { LoadShape } from './http-load.ts';
import { logIn, startPlayers, type Players } from './players.ts';
import type { StormStudy } from './reconnect-storm.ts';
import { startReveille } from './servers.ts';
import { range } from './signed-requests.ts';
import { raisedWakeupLimits, wakeConnections } from './wake-figure.ts';

export const neighbourRows = {
  alone: 'a neighbour alone',
  limited: 'beside a storm, limits as they are',
  raised: 'beside a storm, limits raised',
} as const;

const neighbourConnections = 8;

/** Both servers have the same devices: who storms has the first, the neighbour the last. */
export async function measureNeighbours(study: StormStudy): Promise<void> {
  await measureOne(study, {}, [neighbourRows.alone, neighbourRows.limited]);
  await measureOne(study, raisedWakeupLimits, [null, neighbourRows.raised]);
}

/** `rows`: of the neighbour alone, and beside the storm; null: not measured. */
async function measureOne(
  study: StormStudy,
  env: Readonly<Record<string, string>>,
  [alone, beside]: readonly [string | null, string],
): Promise<void> {
  const { sessions, neighbours } = study.plan.neighbour;
  const server = await startReveille({ devices: sessions + neighbours, neighbours, env });
  const [stormer, neighbour] = [startPlayers(), startPlayers()];
  try {
    const login = { port: server.devicePort, dialect: 'reveille' } as const;
    await logIn(stormer, { ...login, count: sessions }, study.trouble);
    await logIn(neighbour, { ...login, from: sessions, count: neighbours }, study.trouble);
    const site = { study, neighbour, port: server.httpPort };
    await wakeNeighbours('warming up', site, study.plan.warmUpSeconds);
    if (alone !== null)
      study.samples.add(alone, await wakeNeighbours(alone, site, study.plan.neighbour.seconds));
    await signStorm(stormer, study);
    const storm = startStorm(stormer, server.httpPort, study);
    await wakeNeighbours('warming up', site, study.plan.warmUpSeconds);
    const tally = new CpuTally(await familyOf(server));
    const calm = await wakeNeighbours(beside, site, study.plan.neighbour.seconds);
    const cpu = (tally.read() / study.plan.neighbour.seconds) * 100;
    const { accepted, asked } = await storm;
    study.samples.add(beside, { ...calm, asked, accepted, busy: cpu });
  } finally {
    await server.stop();
    await Promise.all([stormer.child.stop(), neighbour.child.stop()]);
  }
}

interface NeighbourSite {
  readonly study: StormStudy;
  readonly neighbour: Players;
  readonly port: number;
}

async function wakeNeighbours(
  row: string,
  { study, neighbour: { service }, port }: NeighbourSite,
  seconds: number,
): Promise<Record<string, number>> {
  const { sessions, neighbours, ratePerSecond } = study.plan.neighbour;
  const devices = range(neighbours).map((index) => sessions + index);
  const count = Math.ceil(seconds * ratePerSecond);
  await service.ask('signWakeups', { devices, count, isNeighbour: true });
  const reading = await service.ask(
    'wakeAtRate',
    shapeOf(port, neighbourConnections, ratePerSecond, seconds),
  );
  study.trouble.expectGoodWakes(row, reading);
  return { wakeP50: reading.wake.p50Ms, wakeP99: reading.wake.p99Ms, wakeMax: reading.wake.maxMs };
}

/** Longer than what is measured beside it. */
function stormSeconds({ plan: { neighbour, warmUpSeconds } }: StormStudy): number {
  return neighbour.seconds + 3 * warmUpSeconds;
}

async function signStorm({ service }: Players, study: StormStudy): Promise<void> {
  const { sessions, stormPerSecond } = study.plan.neighbour;
  const count = Math.ceil(stormSeconds(study) * stormPerSecond);
  await service.ask('signWakeups', { devices: sessions, count });
}

/** Resolves to what it came to; refusals are what limits are for. */
async function startStorm(
  { service }: Players,
  port: number,
  study: StormStudy,
): Promise<{ asked: number; accepted: number }> {
  const shape = shapeOf(port, wakeConnections, study.plan.neighbour.stormPerSecond, stormSeconds(study));
  const { answers, wake } = await service.ask('wakeAtRate', shape);
  return { asked: answers.ratePerSecond, accepted: wake.count / answers.seconds };
}

function shapeOf(port: number, connections: number, ratePerSecond: number, seconds: number): LoadShape {
  return { port, connections, ratePerSecond, seconds, isCalm: true };
}

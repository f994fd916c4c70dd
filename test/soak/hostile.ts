/**
 * Runs all attacks at once against sleeping devices, a backend, newcomers and a call: no session may end, no heartbeat be late,
 * no query or newcomer fail, no call stall, and the memory of every process must stay flat. Prints a line every ten seconds.
 * Ends with a canary: the same queries must detect a device without heartbeats.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { moduleAlone } from '../../src/tools/simulator/simulated-device.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { startServerProcess, withMedia, type ServerProcess } from '../support/server-process.ts';
import { siteIdentity } from '../support/site-server.ts';
import { openFleet } from '../support/simulated-fleet.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { Assault } from './hostile/assault.ts';
import { Memory } from './hostile/memory.ts';
import { Newcomers } from './hostile/newcomers.ts';
import { Querier } from './hostile/querier.ts';
import { registry } from './hostile/registry.ts';
import { WatchedCall } from './hostile/watched-call.ts';
import { readNumbers } from './plan-options.ts';

const heartbeatSeconds = 5;
/** Allows for rounding to whole seconds, and for the time of a query. */
const lateSecondsMax = heartbeatSeconds + 3;
const loginsPerSecond = 1000;
/** Fewer connections per listener than the crowds open. */
const places = [
  'api.connections_max=300',
  'sleep.handshakes_max=100',
  'signal.handshakes_max=100',
  'media.handshakes_max=100',
  'ops.connections_max=164',
];

export async function run(args: readonly string[], ending: Ending): Promise<readonly string[]> {
  const { seconds, devices, edges, fronts } = readNumbers(args, {
    seconds: 600,
    devices: 10_000,
    edges: 0,
    fronts: 0,
  });
  if (seconds < 20 || devices < 10) throw new Error('at least 20 seconds and 10 devices');
  const complaints: string[] = [];
  const directory = temporaryDirectory(ending);
  const file = join(directory, 'registry.json');
  await writeFile(file, JSON.stringify(registry(devices)));
  const state = join(directory, 'state');
  const own = [`data.dir=${state}`, `registry.file=${file}`];
  const memory = new Memory(join(directory, 'samples.jsonl'), seconds);
  const server = await startServerProcess(
    ending,
    [...own, ...withMedia, ...places],
    {},
    ['--edges', String(edges), '--fronts', String(fronts)],
    { imports: memory.imports },
  );
  const { ports } = server;
  await memory.watch(server, state);
  let lost = 0;
  // Number 0 is the canary, whose session stays open without a heartbeat.
  const fleet = openFleet({
    devices: Array.from({ length: devices - 1 }, (_, index) => siteIdentity(1 + index)),
    life: moduleAlone(`127.0.0.1:${ports.sleep}`, heartbeatSeconds),
    onlineMs: 0,
    bootMs: 0,
    rampPerSecond: loginsPerSecond,
    sleepPort: ports.sleep,
    heartbeatSeconds,
    onTrouble: () => (lost += 1),
  });
  ending.after(() => fleet.stop());
  fleet.start();
  const canary = await SleepingModule.connect(ports.sleep, { ...siteIdentity(0), heartbeatSeconds: 3600 });
  ending.after(() => canary.close());
  while (fleet.tally.inStage('asleep') < devices - 1) await sleep(100);
  lost = 0;
  // Start after one interval, when every module has sent a heartbeat.
  await sleep(heartbeatSeconds * 1000);
  const call = await WatchedCall.begin(ports, devices);
  ending.after(() => call.end());
  const querier = new Querier(ports, devices, lateSecondsMax);
  ending.after(() => querier.close());
  const newcomers = new Newcomers(ports, devices + 1);
  const assault = new Assault(ports);
  ending.after(() => assault.end());

  const startMs = performance.now();
  const visits: Promise<void>[] = [];
  memory.begin();
  console.log(`${devices} devices asleep, ${seconds} s of every attack at once`);
  for (let second = 1; second <= seconds; second++) {
    visits.push(newcomers.visit());
    await querier.askSome();
    const elapsed = (performance.now() - startMs) / 1000;
    if (second % 10 === 0) {
      const figures = [querier, newcomers, call, memory].map((each) => each.figures());
      console.log(
        JSON.stringify(Object.assign({ second, lost }, ...figures, { attacks: assault.figures() })),
      );
    }
    await sleep(Math.max(0, second - elapsed) * 1000);
  }
  await Promise.all(visits);
  if (lost > 0) complaints.push(`${lost} sessions were lost`);
  complaints.push(...[querier, newcomers, call, assault, memory].flatMap((each) => each.judge()));
  const restarts = server.command.lines.filter((line) => /died|replacing it/.test(line));
  if (restarts.length > 0) complaints.push(`restarted: ${restarts.join('; ')}`);
  assault.end();
  complaints.push(...(await judgePictures(server)));
  if (await querier.isInTime(0)) complaints.push('the canary sends no heartbeat, and no query showed it');
  return complaints;
}

async function judgePictures(server: ServerProcess): Promise<readonly string[]> {
  const metrics = await metricsOf(server);
  const count = (result: string): number =>
    metric(metrics, `reveille_media_frames_total{result="${result}"}`) ?? 0;
  const refused = { undecodable: count('undecodable'), overdue: count('overdue') };
  console.log(JSON.stringify({ refusedPictures: refused }));
  return refused.undecodable + refused.overdue === 0 ? ['no hostile picture was refused'] : [];
}

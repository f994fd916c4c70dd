/**
 * `reveille demo`: a device comes online, falls asleep, is woken by a signed request, comes online again and takes two
 * calls, over real sockets, with the answers of the API at each step. Every step has one right end; any other is a
 * DemoFailure. No two wakeups are alike: within one second they would have one signature, and the second would be a
 * repeat.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Command } from 'commander';
import { addTrustOptions, findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import { addExamples, type CommandContext, inLocalContext } from '../../cli/shell/command-context.ts';
import { DemoFailure, findDemoStage, openOwnStage, type DemoStage } from './demo-stage.ts';
import { Timeline } from './timeline.ts';
import { findRunningServer } from '../../cli/admin/running-server.ts';
import type { ConnectivityData } from '../../client/reveille-client.ts';
import { DemoBackend } from './demo-backend.ts';
import { playCalls } from './demo-call.ts';
import { DemoDevice } from './demo-device.ts';

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description(
      'Play the story on real sockets: online, asleep, signed wakeup, 8 bytes on the wire, online again, ' +
        'two calls with pictures, the event log; with what the API says at each step.',
    )
    .option('--pictures <dir>', 'where the pictures of the calls are saved, in one file', '.')
    .action(inLocalContext(demo));
  addExamples(
    addTrustOptions(command),
    ['demo', 'against the running server of the data directory, else one of its own'],
    ['demo --data-dir /var/lib/reveille', 'against the server that has this directory'],
    ['demo --json', 'each step as a JSON object'],
  );
}

interface DemoOptions extends TrustOptions {
  readonly pictures: string;
}

async function demo(context: CommandContext, { pictures, ...trust }: DemoOptions): Promise<void> {
  const timeline = new Timeline(context);
  const stage = await openStage(context, findTrust(context, trust), timeline);
  try {
    await playDemo(stage, timeline, pictures);
    timeline.end('the story went as it should');
  } catch (error) {
    if (!(error instanceof DemoFailure)) throw error;
    timeline.end(`the story went wrong: ${error.message}`);
    process.exitCode = 1;
  } finally {
    await stage.close();
  }
}

async function openStage(
  context: CommandContext,
  trust: ConnectionOptions | undefined,
  timeline: Timeline,
): Promise<DemoStage> {
  const running = findRunningServer(context.dataDirectory);
  if (running !== null) return findDemoStage(context, running, trust, timeline);
  timeline.notify(
    'server',
    `none runs on ${context.dataDirectory}: starting one of our own, for this story only`,
  );
  return openOwnStage(context.clock, timeline);
}

const fixedPacket = '98 3b 16 f8 f3 9c 00 00';
const customPacket = '98 3b 16 f8 f3 9c 12 ab';

/** `picturesDirectory`: where those of the calls are saved. */
async function playDemo(stage: DemoStage, timeline: Timeline, picturesDirectory: string): Promise<void> {
  const device = new DemoDevice(stage, timeline);
  const backend = new DemoBackend(stage, timeline);
  try {
    const begin = await backend.endOfLog();
    await comeOnline(device, backend);
    await fallAsleep(device, backend);
    await beWoken(device, backend);
    await beWokenAwake(device, backend);
    await playCalls(stage, timeline, { device, backend, picturesDirectory });
    await readLog(device, backend, begin);
  } finally {
    await device.close();
  }
}

async function comeOnline(device: DemoDevice, backend: DemoBackend): Promise<void> {
  await backend.expectConnectivity('before', 'no login yet', ({ signal }) => signal.last_login_at === null);
  await device.signIn();
  await backend.expectConnectivity('online', 'signal online', ({ signal }) => signal.is_online);
}

async function fallAsleep(device: DemoDevice, backend: DemoBackend): Promise<void> {
  await device.logModuleIn('custom');
  await device.powerDown();
  await backend.expectConnectivity(
    'asleep',
    'signal offline and a sleep login',
    ({ signal, sleep }) => !signal.is_online && sleep.last_login_at !== null,
  );
  device.heartbeat();
  const hasBeaten = ({ sleep }: ConnectivityData): boolean => sleep.last_heartbeat_at !== null;
  await backend.expectConnectivity('asleep', 'the heartbeat of the module', hasBeaten);
}

async function beWoken(device: DemoDevice, backend: DemoBackend): Promise<void> {
  const packet = device.awaitPacket(fixedPacket);
  const requestId = await backend.wake();
  await packet();
  await device.bootAndSignIn();
  await backend.expectOutcome(
    requestId,
    'completed, caused by remote',
    ({ status, cause }) => status === 'completed' && cause === 'remote',
  );
  await backend.expectConnectivity('awake', 'signal online again', ({ signal }) => signal.is_online);
}

/** What a wakeup comes to while the controller is online. */
async function beWokenAwake(device: DemoDevice, backend: DemoBackend): Promise<void> {
  const packet = device.awaitPacket(customPacket);
  const requestId = await backend.wake('0x12aB');
  await packet();
  await backend.expectOutcome(
    requestId,
    'completed, already online',
    ({ status, already_online: alreadyOnline }) => status === 'completed' && alreadyOnline,
  );
  await device.logModuleIn('fixed');
  await backend.expectRefusal(40902, '0x0001', 'a fixed module takes no custom data');
  await device.hangModuleUp();
  const hasEnded = ({ sleep }: ConnectivityData): boolean => sleep.last_offline_at !== null;
  await backend.expectConnectivity('awake', 'the end of the sleep session', hasEnded);
  await backend.expectRefusal(40412, '0x0002', 'nobody sleeps there');
}

async function readLog(device: DemoDevice, backend: DemoBackend, begin: string): Promise<void> {
  await device.powerDown();
  const events = await backend.notifyEvents(
    begin,
    ({ type, epoch }) => type === 'device.signal.offline' && epoch === 2,
  );
  // Before the story began the device was added, which is an event too.
  const first = events[0]?.seq ?? 1;
  const gap = events.find(({ seq }, index) => seq !== first + index);
  if (gap !== undefined) throw new DemoFailure(`every seq from ${first} on`, `seq ${gap.seq} out of order`);
}

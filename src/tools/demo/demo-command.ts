/**
 * `reveille demo`: a device comes online, falls asleep, is woken by a signed request, comes online again and takes two
 * calls, over real sockets, with the answers of the API at each step. Every step has one right end; any other is a
 * DemoFailure. No two wakeups are alike: within one second they would have one signature, and the second would be a
 * repeat.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Command } from 'commander';
import { addTrustOptions, findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import {
  addExamples,
  type CommandContext,
  inLocalContext,
  untilInterrupted,
} from '../../cli/shell/command-context.ts';
import { DemoFailure, findDemoStage, openOwnStage, type DemoStage } from './demo-stage.ts';
import { DemoInterrupted, Timeline } from './timeline.ts';
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
    .option('--fast', 'no pauses; without it a terminal gets one step at a time')
    .action(inLocalContext(demo));
  addExamples(
    addTrustOptions(command),
    ['demo', 'against the running server of the data directory, else one of its own'],
    ['demo --data-dir /var/lib/reveille', 'against the server that has this directory'],
    ['demo --fast', 'all at once'],
    ['demo --json', 'each step as a JSON object'],
  );
}

interface DemoOptions extends TrustOptions {
  readonly pictures: string;
  readonly fast?: boolean;
}

/** Long enough to read a line. */
const stepMs = 450;

function demo(context: CommandContext, options: DemoOptions): Promise<void> {
  return untilInterrupted((signal) => {
    const { stdout } = process;
    const isTerminal = stdout.isTTY && !context.output.wantsJson;
    const timeline = new Timeline(context, {
      screen: stdout,
      hasColor: isTerminal && !process.env['NO_COLOR'],
      stepMs: isTerminal && options.fast !== true ? stepMs : 0,
      signal,
    });
    return tellDemo(context, timeline, options);
  });
}

async function tellDemo(
  context: CommandContext,
  timeline: Timeline,
  { pictures, ...trust }: DemoOptions,
): Promise<void> {
  const tls = findTrust(context, trust);
  await timeline.chapter('The stage');
  const stage = await openStage(context, tls, timeline);
  let verdict = 'the story went as it should';
  try {
    await playDemo(stage, timeline, pictures);
  } catch (error) {
    if (error instanceof DemoInterrupted) verdict = 'interrupted';
    else if (error instanceof DemoFailure) verdict = `the story went wrong: ${error.message}`;
    else throw error;
    process.exitCode = 1;
  } finally {
    await stage.close();
  }
  await timeline.end(verdict);
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
    await timeline.chapter('A device comes online');
    await comeOnline(device, backend);
    await timeline.chapter('It falls asleep: only its low-power module stays connected');
    await fallAsleep(device, backend);
    await timeline.chapter('The backend wakes it');
    timeline.result('a sleeping device is woken', await beWoken(device, backend));
    await timeline.chapter('Wakeups while it is awake');
    timeline.result('a wakeup of a device that is awake', await beWokenAwake(device, backend));
    timeline.result('wakeups that cannot be', 'refused with 40902 and 40412, as they should be');
    await playCalls(stage, timeline, { device, backend, picturesDirectory });
    await timeline.chapter('What the event log says');
    const events = await readLog(device, backend, begin);
    timeline.result('events of all this', `${events}, none missing and none out of order`);
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

/** Resolves to how fast it was. */
async function beWoken(device: DemoDevice, backend: DemoBackend): Promise<string> {
  const packet = device.awaitPacket(fixedPacket);
  const requestId = await backend.wake();
  const packetMs = await packet();
  await device.bootAndSignIn();
  const outcome = await backend.expectOutcome(
    requestId,
    'completed, caused by remote',
    ({ status, cause }) => status === 'completed' && cause === 'remote',
  );
  await backend.expectConnectivity('awake', 'signal online again', ({ signal }) => signal.is_online);
  return `packet on the wire after ${packetMs.toFixed(1)} ms, ${outcome}`;
}

/** Resolves to what a wakeup comes to while the controller is online. */
async function beWokenAwake(device: DemoDevice, backend: DemoBackend): Promise<string> {
  const packet = device.awaitPacket(customPacket);
  const requestId = await backend.wake('0x12aB');
  await packet();
  const outcome = await backend.expectOutcome(
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
  return outcome;
}

/** Resolves to how many events there were. */
async function readLog(device: DemoDevice, backend: DemoBackend, begin: string): Promise<number> {
  await device.powerDown();
  const events = await backend.notifyEvents(
    begin,
    ({ type, epoch }) => type === 'device.signal.offline' && epoch === 2,
  );
  // Before the story began the device was added, which is an event too.
  const first = events[0]?.seq ?? 1;
  const gap = events.find(({ seq }, index) => seq !== first + index);
  if (gap !== undefined) throw new DemoFailure(`every seq from ${first} on`, `seq ${gap.seq} out of order`);
  return events.length;
}

/**
 * `reveille simulate`: plays devices over real sockets; with `--call`, holds one call of a device; with `--bridge`, plays a
 * bridge for calls of others. Runs until Ctrl-C or `--duration`. Exits 1 if no login succeeded, no call connected, or the bridge
 * was refused.
 */
import { Option, type Command } from 'commander';
import { heartbeatSecondsMax, heartbeatSecondsMin } from '../../model/limits.ts';
import { audioFrameFormats } from '../../model/media/sound.ts';
import { addApiOptions } from '../../cli/api/api-access.ts';
import { newCommand, type CommandContext, inContext } from '../../cli/shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../../cli/shell/option-values.ts';
import type { SimulateOptions } from './simulate-devices.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { parseSizes } from '../bridge/bridge-show.ts';
import { playedFormats } from '../bridge/frame-coder.ts';
import type { SimulateBridgeOptions } from '../bridge/simulate-bridge.ts';
import type { SimulateCallOptions } from '../bridge/simulate-call.ts';

const devicesMax = 1_000_000;
const aDayS = 86_400;

/** Options that `--call` and `--bridge` exclude. */
function addOptionsOfDevices(command: Command): void {
  const modes = new Option('--wake-mode <mode>', 'wake mode of the modules');
  command
    .option('--devices <count>', 'number of devices', wholeNumberOption(1, devicesMax), 1)
    .option(
      '--wake-every <seconds>',
      'interval at which a random sleeping device is woken through the API',
      wholeNumberOption(1, 3600),
    )
    .option('--online-for <seconds>', 'time online before a device sleeps', wholeNumberOption(1, aDayS), 3)
    .option(
      '--boot-ms <ms>',
      'time from the wake packet to the login, ±25 %',
      wholeNumberOption(0, 60_000),
      300,
    )
    .option('--signal <address>', 'signal listener, host:port or a ws or wss URL (default: the local one)')
    .option(
      '--server <address>',
      'sleep server, host:port or tls://host:port (default: the one assigned to the controllers)',
    )
    .option('--only-sleep', 'play modules without controllers, as a load: they log in and stay asleep')
    .addOption(modes.choices(['fixed', 'custom', 'none']).default('custom'))
    .option(
      '--heartbeat <seconds>',
      'heartbeat interval of the modules (default: the one assigned to the controllers, or 50)',
      wholeNumberOption(heartbeatSecondsMin, heartbeatSecondsMax),
    )
    .option('--ramp <per-second>', 'new logins per second', wholeNumberOption(1, 100_000), 1000)
    .option('--product <id>', 'only devices of this product')
    .option('--prefix <text>', 'only ids with this prefix; with --secret: generated ids PREFIX1, PREFIX2, …')
    .option('--secret <secret>', 'the secret of all generated ids');
}

function addOptionsOfCallsAndBridges(command: Command): void {
  const video = new Option('--video <format>', 'video of the device with --call, else of the bridge');
  const sound = 'audio of the device with --call, else of the bridge (default: the format of the call)';
  const uplink = "format in which the bridge receives the device's video (default: unchanged)";
  command
    .option('--film <file>', 'video file that the bridge plays in a loop (default: a moving test picture)')
    .addOption(video.choices(playedFormats))
    .addOption(new Option('--audio <format>', sound).choices(audioFrameFormats))
    .addOption(new Option('--uplink <format>', uplink).choices(['h264']))
    .addOption(
      new Option(
        '--uplink-audio <format>',
        "format in which the bridge receives the device's audio (default: unchanged)",
      ).choices(audioFrameFormats),
    )
    .option(
      '--key <key>',
      'key of the bridge (default: a temporary one with --call, else the first of REVEILLE_MEDIA_BRIDGE_KEYS)',
    );
}

function addOptionsOfBridges(command: Command): void {
  const size = 'size of the video in pixels; several alternate every 5 s (default: the size of the call)';
  command
    .option('--media <address>', 'media listener, host:port or a ws or wss URL (default: the local one)')
    .option('--session <id>', 'accept only this call (default: any)')
    .option('--size <WxH,…>', size, parseSizes)
    .option(
      '--answer-after <seconds>',
      'the phone joins this long after ringing, for devices that send no acceptance',
      wholeNumberOption(0, 600),
    );
}

export function addSimulateCommand(program: Command): void {
  const command = newCommand(
    program,
    'simulate',
    'Play devices: controllers log in, let their modules sleep, are woken and log in again; a line shows their ' +
      'states and wake times. With --call, hold a call of a device; with --bridge, answer the calls of others.',

    ['--devices 2 --wake-every 5', 'two devices of the local registry, woken at random'],
    ['--only-sleep --devices 19000 --ramp 5000 --heartbeat 15 --duration 60', 'sleeping modules as a load'],
    [
      '--prefix LAB- --secret s3cret --signal wss://lab.example --server tls://lab.example:8081 --ca lab.pem',
      'against another server',
    ],
    '--call DEMO-DOORBELL-1 --video mjpeg --uplink h264 --audio opus --uplink-audio pcm',
    ['--bridge --video mjpeg --size 320x240,240x320', 'a phone that turns every five seconds'],
  )
    .addOption(
      new Option(
        '--call <device>',
        'hold a call of this device, awake or not: play its leg and, if no bridge accepts the call, a bridge',
      )
        .argParser(parseDeviceIdOption)
        .conflicts('bridge'),
    )
    .option('--bridge', 'play a bridge, which answers calls for the phone')
    .option(
      '--duration <seconds>',
      'end after this time (default: with Ctrl-C)',
      wholeNumberOption(1, 2_000_000),
    );
  addApiOptions(command);
  addGroup(command, 'Devices:', addOptionsOfDevices, ['call', 'bridge']);
  const ofCalls = [
    ...addGroup(command, 'With --call or --bridge:', addOptionsOfCallsAndBridges, []),
    ...addGroup(command, 'With --bridge:', addOptionsOfBridges, ['call']),
  ];
  command
    .optionsGroup('')
    .action(inContext((context, options: Options) => simulate(context, options, ofCalls)));
}

/** Adds options under a heading, and returns them. */
function addGroup(
  command: Command,
  heading: string,
  add: (command: Command) => void,
  conflicts: string[],
): readonly Option[] {
  const before = command.options.length;
  add(command.optionsGroup(heading));
  return command.options.slice(before).map((option) => option.conflicts(conflicts));
}

interface Options extends SimulateOptions, SimulateCallOptions, SimulateBridgeOptions {
  readonly call?: string;
  readonly bridge?: boolean;
}

async function simulate(
  context: CommandContext,
  options: Options,
  ofCalls: readonly Option[],
): Promise<void> {
  const { call, bridge } = options;
  if (call !== undefined)
    return (await import('../bridge/simulate-call.ts')).simulateCall(context, call, options);
  if (bridge === true) return (await import('../bridge/simulate-bridge.ts')).simulateBridge(context, options);
  const spare = ofCalls.find((option) => option.attributeName() in options);
  if (spare !== undefined) throw usageError(`${spare.flags} needs --call or --bridge`);
  await (await import('./simulate-devices.ts')).simulateDevices(context, options);
}
